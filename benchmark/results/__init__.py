"""The results store and what its writers and readers share (metrics, names, keys): rows in, rows out. Without torch.

Imported by the rooms of benchmark above it; the only room of benchmark that `reports` imports.
"""
