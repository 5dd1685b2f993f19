"""Prepared arrays -> what is learned from: splits, labelled subsets, pairs for pretraining, windows to probe with."""
