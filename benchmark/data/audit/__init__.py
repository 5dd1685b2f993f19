"""Prepared datasets in; findings (leaks, copies, damage) and summaries out. Imported by benchmark's run and verbs."""
