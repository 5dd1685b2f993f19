"""Resampled scores, intervals, comparisons and their corrections."""
