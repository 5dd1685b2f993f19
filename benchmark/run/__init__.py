"""The grid at work. What there is to do: `grid/`; what of it one runner does: `work/`; the runner itself: `runner`.

A task is a pretraining (`pretraining`) or a cell (`cell`); where tasks run: `engines/`.

In: a config and prepared data. Out: rows and encoders in the results store. Imported by verbs alone.
"""
