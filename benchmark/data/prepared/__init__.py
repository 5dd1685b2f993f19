"""Recordings -> arrays of heartbeats or plain windows in a cache, and the pseudo-trials made of them."""
