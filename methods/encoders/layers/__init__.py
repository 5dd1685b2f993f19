"""Layers that an encoder is built of."""
