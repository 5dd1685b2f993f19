"""Terminal output: notes, errors, progress and tables in, printed text out. The one owner of rich.

Imports no other room; imported by run_benchmark and benchmark's verbs, run and config.
"""
