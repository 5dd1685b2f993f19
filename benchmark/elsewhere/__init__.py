"""Encoders whose weights come from elsewhere, as rows of the tables.

In: a card with an ONNX or TorchScript file, or a .py file (`methods.encoders.pretrained`). Out: their classes, the
tasks of a run in windows of theirs, and whether they saw the test patients. Imported by benchmark's config, training,
run and verbs.
"""
