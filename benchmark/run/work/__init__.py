"""The work of one runner: what is missing of a grid, which of it the runner has claimed, what is left of it.

In: a `Grid` and a store. Out: jobs for an engine; failures in the store. Imported by run and verbs.
"""
