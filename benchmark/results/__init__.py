"""Finished cells on disk, and every fact that those who write and those who report them share. Never imports torch.

The only room of this package that `reports` imports.
"""
