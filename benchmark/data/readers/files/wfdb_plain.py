"""A WFDB record in the form in which the four datasets are published, read without wfdb to the same samples.

In that form all leads lie in one file in format 16 and every field of a header line is stated. wfdb takes 8 ms for such
a header (it looks up each field of each lead in a pandas table), which is half of what a recording's windows cost.
Whatever differs in the least, a wrong checksum included, is left to wfdb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RECORD_LINE = re.compile(
    r"[-\w]+ \d{1,4} (?P<fs>[1-9]\d{0,8}) (?P<samples>[1-9]\d{0,11})( (?P<start>[-\w:/ ]+))?", re.ASCII
)
SIGNAL_LINE = re.compile(
    r"(?P<file>[-\w]+\.\w+) 16(\+(?P<offset>\d{1,6}))? "
    r"(?P<gain>\d+(\.\d+)?)(\((?P<baseline>-?\d{1,5})\))?/(?P<unit>\w+) "
    r"\d{1,2} (?P<zero>-?\d{1,5}) -?\d{1,5} (?P<sum>-?\d{1,5}) \d{1,5} (?P<lead>\w+)",
    re.ASCII,
)
"""File, format and offset, gain with baseline and unit, resolution, zero, first sample, checksum, block size, lead."""
CHALLENGE_START = re.compile(r"[0-3]\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d", re.ASCII)
NO_SAMPLE = -32768
"""Stands for NaN in format 16."""


class Samples(NamedTuple):
    """What a record's files hold."""

    signal: NDArray[np.float64]
    """(n, L) in the leads' units."""
    leads: Sequence[str | None]
    units: Sequence[str]
    fs: float
    """Hz."""


def read_plain(record: Path, lines: Sequence[str]) -> Samples | None:
    """A record by the lines of its header without comments; None where it is not of this form or damaged."""
    first, stated = RECORD_LINE.fullmatch(lines[0]), [SIGNAL_LINE.fullmatch(line) for line in lines[1:]]
    leads = [lead for lead in stated if lead]
    if first is None or not _is_start(first["start"]) or not leads or len(leads) < len(stated):
        return None
    if len({(lead["file"], lead["offset"]) for lead in leads}) > 1:
        return None
    count, offset = int(first["samples"]) * len(leads), int(leads[0]["offset"] or 0)
    try:
        digital = np.fromfile(record.parent / leads[0]["file"], "<i2", count, offset=offset)  # (n * L,)
    except OSError:
        return None
    if len(digital) < count:
        return None
    digital = np.ascontiguousarray(digital.reshape(-1, len(leads)).T)  # (L, n)
    sums = np.array([int(lead["sum"]) for lead in leads])  # (L,)
    if ((sums - digital.sum(axis=1)) % 65536).any():
        return None
    gain = np.array([[float(lead["gain"])] for lead in leads])  # (L, 1)
    if not gain.all():  # wfdb takes it as not stated
        return None
    zero = np.array([[float(lead["baseline"] or lead["zero"])] for lead in leads])  # (L, 1)
    signal = digital - zero  # (L, n)
    signal /= gain
    signal[digital == NO_SAMPLE] = np.nan
    return Samples(signal.T, [lead["lead"] for lead in leads], [lead["unit"] for lead in leads], float(first["fs"]))


def _is_start(text: str | None) -> bool:
    """Whether the start of a recording is none, the Challenge's or a valid time and date of MIMIC-IV-ECG."""
    if text is None or CHALLENGE_START.fullmatch(text):
        return True
    try:
        datetime.strptime(text, "%H:%M:%S %d/%m/%Y")
    except ValueError:
        return False
    return True
