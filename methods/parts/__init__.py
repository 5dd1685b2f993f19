"""Losses, masks, momentum copies, knobs and ranks that methods share."""
