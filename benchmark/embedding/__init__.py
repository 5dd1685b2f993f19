"""Use of a pretrained encoder outside the suite: a folder that holds all of it, signals in, embeddings out.

In: an encoder of the store or a published checkpoint. Out: a folder (`saved`), embeddings of anyone's recordings to the
bits that the linear probe saw (`encode`), a scikit-learn transformer (`estimator`), ONNX (`onnx`). Imported by
benchmark's verbs, and by users through `from benchmark import load_encoder, EcgEmbedder`.
"""
