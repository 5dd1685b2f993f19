"""Formats of files: CSV tables and WFDB records. A dataset's reader says which of its files they are."""
