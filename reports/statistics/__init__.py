"""Stored predictions -> intervals, paired tests, ties and variance components, by a bootstrap over test patients.

Imported by reports.tables, figures, html, paper and build.
"""
