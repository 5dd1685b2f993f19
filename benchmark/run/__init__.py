"""The grid at work: which cells there are, which are missing, what they cost, and doing them.

In: a config and prepared data. Out: rows and encoders in the results store. For verbs alone.
"""
