"""The corpus of a pretraining: pseudo-trials and reports on the device, pairs of windows, batches of an epoch."""
