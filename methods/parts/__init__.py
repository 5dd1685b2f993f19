"""Blocks that two or more methods share: encoder, heads, momentum copies, queue, masks, losses."""
