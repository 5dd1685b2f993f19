"""Recordings: where they lie, what their labels mean, and how they become the arrays a network reads."""
