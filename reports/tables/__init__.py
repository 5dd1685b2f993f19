"""A run, a layout and its statistics -> a `Table`, and its Markdown, LaTeX, CSV and terminal forms.

Imported by the other rooms that write output: build, html, paper, compare, figures and benchmark.verbs.
"""
