"""Read one WFDB record: checked against its header's checksums, in millivolts, leads in the order of `LEADS`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import wfdb
from numpy.typing import NDArray

from benchmark.data.base import LEADS, Recording, Unusable

MILLIVOLTS = {"v": 1e3, "mv": 1.0, "uv": 1e-3, "µv": 1e-3, "nv": 1e-6}
"""Millivolts per unit, by the unit's name in lower case."""


def record_files(record: Path, suffix: str) -> tuple[Path, Path]:
    """Header and signal file of a record named without extension; the suffix is '.dat' or '.mat'."""
    return record.with_name(record.name + ".hea"), record.with_name(record.name + suffix)


def read_recording(record: Path) -> Recording:
    """One record, named without extension, as (n, 12) float32 in mV.

    Raises Unusable where a file is missing or truncated, a checksum or a lead is wrong, or the signal is NaN or zero.
    """
    raw = _read_digital(record)
    columns = _lead_columns(raw.sig_name)
    signal = raw.dac()[:, columns] * _millivolts([raw.units[column] for column in columns])  # (n, 12)
    _check_signal(signal)
    return Recording(signal.astype(np.float32), float(raw.fs))


def diagnosis_codes(header: Path) -> tuple[str, ...]:
    """Codes of a header's `#Dx:` or `# Dx:` line, in its order; empty where there is none."""
    for line in header.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, codes = line.lstrip("# ").partition(":")
        if line.startswith("#") and name.strip() == "Dx":
            return tuple(code.strip() for code in codes.split(",") if code.strip())
    return ()


def _read_digital(record: Path) -> wfdb.Record:
    header = record_files(record, "")[0]
    if not header.is_file():
        raise Unusable("file missing: header")
    try:
        raw = wfdb.rdrecord(str(record), physical=False)
    except FileNotFoundError:
        raise Unusable("file missing: signal") from None
    except Exception as error:  # the parser raises whatever a damaged header or a short file makes it stumble on
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    if raw.d_signal is None or raw.d_signal.size == 0:
        raise Unusable("no samples")
    stated = [sum_ for sum_ in raw.checksum if sum_ is not None]
    if len(stated) == raw.n_sig and np.any((np.array(stated) - np.array(raw.calc_checksum())) % 65536):
        raise Unusable("wrong checksum")
    return raw


def _lead_columns(names: list[str]) -> list[int]:
    """Column of each of `LEADS`; sources order and capitalise them differently."""
    column = {name.strip().lower(): index for index, name in enumerate(names)}
    missing = [lead for lead in LEADS if lead.lower() not in column]
    if missing:
        raise Unusable(f"lead missing: {', '.join(missing)}")
    return [column[lead.lower()] for lead in LEADS]


def _millivolts(units: list[str]) -> NDArray[np.float64]:
    unknown = sorted({unit for unit in units if unit.lower() not in MILLIVOLTS})
    if unknown:
        raise Unusable(f"unknown unit: {', '.join(unknown)}")
    return np.array([MILLIVOLTS[unit.lower()] for unit in units])  # (12,)


def _check_signal(signal: NDArray[np.float64]) -> None:
    """A flat lead may stand; a NaN or an altogether flat recording may not."""
    bad = [lead for lead, column in zip(LEADS, signal.T, strict=True) if not np.isfinite(column).all()]
    if bad:
        raise Unusable(f"NaN samples: lead {', '.join(bad)}")
    if not signal.any():
        raise Unusable("all samples zero")
