"""Pretrain, fine-tune, probe and measure one encoder.

In: a method or an encoder, a task or pairs of windows, settings. Out: weights, probabilities, health. Imported by run
and verbs; independent of the grid and the results store.
"""
