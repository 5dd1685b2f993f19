"""Random search over the knobs of each method, judged on validation patients alone.

In: a config and prepared data. Out: a `Tuning` per method in the results store, and a config with the knobs it chose.
"""
