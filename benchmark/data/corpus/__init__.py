"""The corpus of a pretraining: pseudo-trials and reports on the device, pairs of windows, batches of an epoch.

A corpus that exceeds the memory stays on disk: `mapped` reads it, `ahead` gives its batches.
"""
