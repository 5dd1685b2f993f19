"""The PMQ paper's printed numbers and claims, checked for consistency and against a results store.

In: paper/data and a results folder; out: verify-paper.md, .csv and figures. Imported by benchmark.verbs.
"""
