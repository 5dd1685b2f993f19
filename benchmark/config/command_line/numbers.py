"""Numbers that flags take, checked as they are read; each function is the `type` of a flag's argparse arguments.

They raise ArgumentTypeError in one line, before which argparse says the flag. Flags of config keys are `int` and
`float`: the config knows their bounds.
"""

from __future__ import annotations

from argparse import ArgumentTypeError

MOST, LARGEST_SEED = 10**6, 2**32 - 1


def count(text: str) -> int:
    """A number of processes, trials, patients: 1 to `MOST`."""
    return _whole(text, 1, MOST, "a count")


def seed(text: str) -> int:
    """A seed, 0 to `LARGEST_SEED`."""
    return _whole(text, 0, LARGEST_SEED, "a seed")


def positive(text: str) -> float:
    """A number above 0, to `MOST`."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no number; use one above 0") from None
    if not 0 < value <= MOST:
        raise ArgumentTypeError(f"{text} is out of range; use a number above 0, at most {MOST}")
    return value


def _whole(text: str, least: int, most: int, what: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not {what}; use a whole number, {least} or more") from None
    if not least <= value <= most:
        raise ArgumentTypeError(f"{text} is not {what}; use {least} or more, at most {most}")
    return value
