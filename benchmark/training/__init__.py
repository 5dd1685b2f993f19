"""One encoder learns, is judged and is looked at.

In: a method or an encoder, a task or pairs of windows, settings. Out: weights, probabilities, what was learned. For run
and verbs; nothing here knows the grid or the store of rows.
"""
