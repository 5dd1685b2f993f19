"""Losses, masks, heads and hyperparameters that methods share."""
