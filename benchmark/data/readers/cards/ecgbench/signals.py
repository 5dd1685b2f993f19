"""Signals by ECGBench's references: WFDB records, arrays in HDF5 and NumPy files, CSV by columns or rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark.data.readers.base import LEADS, Recording, Unusable
from benchmark.data.readers.cards.card import Format, Signals
from benchmark.data.readers.cards.forms import hdf5_files, numpy_files, text_files, wfdb
from benchmark.data.readers.cards.forms.stored import Stored, derivable, recording_of, samples_by_leads
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file

SUFFIXES: dict[str, Format] = {"wfdb": "wfdb", "hdf5": "hdf5", "npy": "numpy", "csv": "csv", "csv_lead_rows": "numpy"}
"""The package's format -> that of a card of files which means the same numbers."""
WFDB_SUFFIXES = (".hea", ".mat", ".dat")
HDF5_SUFFIXES = (".h5", ".hdf5", ".he5", ".hdf")


class Reference(NamedTuple):
    """Where a signal is: a file; in a file of many, also an array's name and a row."""

    path: str
    array: str | None = None
    row: int | None = None


def reference_of(text: str, form: str) -> Reference:
    """The parts of 'a.h5', 'a.h5:ecg', 'parts.hdf5:tracings:417' or 'many.npy:417'. A WFDB record is its header."""
    if form == "wfdb":
        stem = next((text.removesuffix(suffix) for suffix in WFDB_SUFFIXES if text.endswith(suffix)), text)
        return Reference(f"{stem}.hea")
    if form == "npy":
        file, _, place = text.rpartition(":")
        return Reference(file, row=int(place)) if file and place.isdecimal() else Reference(text)
    if form == "hdf5":
        path, *names = text.split(":")
        if path.lower().endswith(HDF5_SUFFIXES) and len(names) <= 2:
            row = int(names[1]) if len(names) == 2 and names[1].isdecimal() else None
            return Reference(path, names[0] if names else None, row)
    return Reference(text)


def meaning_of(config: Any) -> Signals:
    """What the numbers of a dataset's files mean, as the card of a folder says it."""
    form = SUFFIXES[config.signal_format]
    derive = bool(derivable(config.lead_names or ()))
    if form == "wfdb":  # the headers state leads, units and rate
        return Signals(files="*.hea", format=form, derive=derive)
    rate, gain = float(config.default_sampling_rate), 1 / config.signal_unit_scale
    if form == "csv":  # the first line names the leads
        return Signals(files="*.csv", format=form, rate=rate, gain=gain, derive=derive)
    used = {lead.lower() for lead in LEADS}
    leads = [name if name.strip().lower() in used else "-" for name in config.lead_names]
    return Signals(files="*.npy", format=form, rate=rate, gain=gain, leads=leads, derive=derive)


def read_signal(root: Path, reference: Reference, form: str, signals: Signals) -> Recording:
    """A signal in mV. Raises Unusable."""
    return recording_of(_READERS[form](root / reference.path, reference, signals), signals)


def _read_hdf5(path: Path, reference: Reference, signals: Signals) -> Stored:
    """A recording's own file, or a row of an array of many."""
    signals = signals.model_copy(update={"array": reference.array})
    if reference.row is None:
        return hdf5_files.read(path, signals)
    return _without_padding(hdf5_files.read_row(path, signals, reference.row))


def _read_npy(path: Path, reference: Reference, signals: Signals) -> Stored:
    """A recording's own file, or a row of an array of many."""
    if reference.row is None:
        return numpy_files.read(path, signals)
    return _without_padding(numpy_files.read_row(path, signals, reference.row))


def _without_padding(stored: Stored) -> Stored:
    """A signal (n, L) without the samples at its ends at which every lead is exactly 0, as shorter ones are padded."""
    sampled = np.flatnonzero(stored.signal.any(axis=1))
    return stored._replace(signal=stored.signal[sampled[0] : sampled[-1] + 1]) if len(sampled) else stored


def _read_lead_rows(path: Path, reference: Reference, signals: Signals) -> Stored:
    """A text file with a line a lead and no names."""
    check_file(path, LARGEST_SIGNAL)
    try:
        rows = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable or not numbers: {type(error).__name__}") from error
    return Stored(samples_by_leads(rows, signals), None, None, None)


_READERS: dict[str, Callable[[Path, Reference, Signals], Stored]] = {
    "wfdb": lambda path, reference, signals: wfdb.read(path, signals),
    "csv": lambda path, reference, signals: text_files.read(path, signals),
    "csv_lead_rows": _read_lead_rows,
    "hdf5": _read_hdf5,
    "npy": _read_npy,
}
"""The package's format -> reader. Raises Unusable."""
