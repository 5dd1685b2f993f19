"""Errors of a dataset, without numpy, so that a command line that fails early loads none."""

from __future__ import annotations


class Unusable(Exception):
    """One recording cannot be used. The message is the reason: kind, colon, details of this recording.

    Kinds are counted in tables ('heart rate below 50/min'), so they hold no number and no path that varies.
    """


class DatasetError(Exception):
    """A dataset as a whole cannot be used: the message says what was looked for, where, and how to get it."""
