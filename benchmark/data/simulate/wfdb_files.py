"""Write WFDB records as the four datasets do: text header, and 16-bit samples (.dat) or a MATLAB v4 matrix (.mat).

Format 16 and the header's columns follow the WFDB specification (signal(5), header(5)); a .mat file is a 24-byte
MATLAB level 4 header of one int16 matrix named `val` in front of the same samples, hence the format `16+24`.
Every header ends with a comment that says that the recording is simulated.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.simulated import SIMULATED_NOTE

MATLAB_INT16 = 30
"""MATLAB v4 type number: little-endian, int16, full matrix."""


class Units(NamedTuple):
    """Digital units of a dataset."""

    per_mv: int
    text: str
    """Gain field of the header, e.g. '1000.0(0)/mV'."""


def digitise(signal: NDArray[np.float32], units: Units) -> NDArray[np.int16]:
    """Signal in mV -> converter steps, (n, L) int16, saturated."""
    return np.clip(np.rint(signal * units.per_mv), -32767, 32767).astype("<i2", order="C")


def write_dat(
    stem: Path,
    digital: NDArray[np.int16],
    leads: Sequence[str],
    fs: int,
    units: Units,
    *,
    start: str = "",
    note: str = "",
) -> None:
    """Write `stem`.dat and `stem`.hea.

    Args:
        stem: path without extension; its last part is the record's name.
        digital: (n, L) int16.
        leads: L names.
        fs: sampling rate in Hz.
        units: gain.
        start: time and date for the first line, as in '08:44:00 23/07/2180'.
        note: comment line without its '#'.
    """
    stem.with_name(f"{stem.name}.dat").write_bytes(digital.tobytes())
    sums = digital.sum(axis=0, dtype=np.int64) & 0xFFFF  # unsigned in these datasets
    file = f"{stem.name}.dat 16"
    lines = _header(stem.name, file, digital, sums.tolist(), leads, fs, units, start)
    _write_header(stem, [*lines, *([f"#{note}"] if note else [])])


def write_mat(
    stem: Path,
    digital: NDArray[np.int16],
    leads: Sequence[str],
    fs: int,
    units: Units,
    *,
    start: str = "",
    notes: Sequence[str],
) -> None:
    """Write `stem`.mat and `stem`.hea; arguments as in `write_dat`, `notes` are comment lines without their '#'."""
    shape = struct.pack("<5i4s", MATLAB_INT16, digital.shape[1], digital.shape[0], 0, 4, b"val\0")
    stem.with_name(f"{stem.name}.mat").write_bytes(shape + digital.tobytes())
    sums = digital.sum(axis=0, dtype=np.int64).astype(np.int16)  # signed in these datasets
    file = f"{stem.name}.mat 16+24"
    lines = _header(stem.name, file, digital, sums.tolist(), leads, fs, units, start)
    _write_header(stem, [*lines, *(f"#{note}" for note in notes)])


def _header(
    record: str,
    file: str,
    digital: NDArray[np.int16],
    sums: Sequence[int],
    leads: Sequence[str],
    fs: int,
    units: Units,
    start: str,
) -> list[str]:
    samples, count = digital.shape
    first = digital[0].tolist()
    lines = [f"{record} {count} {fs} {samples} {start}".rstrip()]
    for lead, value, total in zip(leads, first, sums, strict=True):
        lines.append(f"{file} {units.text} 16 0 {value} {total} 0 {lead}")
    return lines


def _write_header(stem: Path, lines: Sequence[str]) -> None:
    text = "\n".join([*lines, f"#{SIMULATED_NOTE}"]) + "\n"
    stem.with_name(f"{stem.name}.hea").write_text(text, encoding="ascii", newline="\n")
