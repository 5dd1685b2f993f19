"""Prepared arrays in; splits, labelled subsets, pretraining pairs and probe windows out.

Imported by data.audit and by benchmark's config, training, run and verbs.
"""
