"""Metrics from the lines of a test set: what they are computed from, their definitions, and pooling by recording."""
