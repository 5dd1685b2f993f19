"""Recordings to windows, splits, tasks and batches. Knows no method."""
