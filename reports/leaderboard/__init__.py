"""Results capsules and folders of several people -> one board of their rows, as a page, Markdown and CSV.

Unlike a merge (reports.runs.merge), which puts the cells of comparable configs into one table, every submission keeps
its own rows, and methods, encoders, budgets and machines may differ. Imported by command lines.
"""
