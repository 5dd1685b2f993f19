"""The grid: enumerate its cells, find the missing ones, estimate their cost and run them.

In: a config and prepared data. Out: rows and encoders in the results store. Imported by verbs alone.
"""
