"""Losses, masks, momentum copies and knobs that methods share."""
