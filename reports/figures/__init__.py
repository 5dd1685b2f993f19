"""A run -> figures with captions, as PNG and PDF files. draw/ alone imports matplotlib.

Imported by build, paper and benchmark.verbs.
"""
