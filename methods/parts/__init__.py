"""Blocks shared by methods or encoders (heads, momentum copies, queue, masks, losses): tensors in, tensors out.

Imported by methods, methods.encoders, benchmark.training and benchmark.verbs.
"""
