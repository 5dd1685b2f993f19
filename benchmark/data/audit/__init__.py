"""Prepared datasets in; findings (leaks, copies, damage), summaries, and what is stated of patients out.

Imported by benchmark's run and verbs.
"""
