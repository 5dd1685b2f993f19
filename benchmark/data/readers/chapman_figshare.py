"""The form in which Chapman-Shaoxing was first published (figshare): Diagnostics.xlsx and ECGDataDenoised/*.csv.

A CSV file is 10 s at 500 Hz, 5,000 lines of 12 leads in microvolt, without a line of names. This is the form the
compared papers read; its signals are denoised, those of the other forms are not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmark.data.readers.base import LEADS, Dataset, DatasetError, Person, Recording, Unusable
from benchmark.data.readers.checks import LARGEST_SIGNAL, check_file, checked_recording
from benchmark.data.readers.files.sheets import read_workbook
from benchmark.data.readers.files.tables import Table, years_of

SAMPLES, FS = 5000, 500.0
MILLIVOLTS_PER_MICROVOLT = 1e-3
COLUMNS = ("FileName", "Rhythm")
BEAT = "Beat"
"""Column of the conditions, separated by blanks; read where it is there."""
RHYTHMS = {
    "SB": "SB",
    "AFIB": "AFIB",
    "AF": "AFIB",  # atrial flutter
    "ST": "GSVT",
    "SVT": "GSVT",
    "AT": "GSVT",
    "AVNRT": "GSVT",
    "AVRT": "GSVT",
    "SAAWR": "GSVT",
    "SR": "SR",
    "SA": "SR",  # sinus irregularity
}
"""Rhythm of Diagnostics.xlsx -> rhythm group, as the dataset's authors merge them."""


def read_diagnostics(dataset: Dataset, path: Path) -> Table:
    """File name, rhythm and conditions of each row of Diagnostics.xlsx, as text.

    Raises DatasetError if it is no workbook or lacks a column.
    """
    try:
        cells = read_workbook(path)
    except ValueError as error:
        raise DatasetError(f"{dataset.title}: {path} is no workbook: {error}. {dataset.how_to_get}") from error
    header = cells[0] if cells else []
    lacking = [column for column in COLUMNS if header.count(column) != 1]
    if lacking:
        raise DatasetError(f"{dataset.title}: {path} has no column {', '.join(lacking)}. {dataset.how_to_get}")
    places = [header.index(column) for column in COLUMNS]
    beat = header.index(BEAT) if BEAT in header else None
    rows = [(*(row[place] for place in places), "" if beat is None else row[beat]) for row in cells[1:]]
    return Table(rows, [])


def people_in(path: Path) -> dict[str, Person]:
    """File name -> sex and age, of Diagnostics.xlsx; {} where it cannot be read or lacks a column of them."""
    try:
        header, *rows = read_workbook(path) or [[]]
    except (OSError, ValueError):
        return {}
    if {"FileName", "Gender", "PatientAge"} - set(header):
        return {}
    cells = [dict(zip(header, row, strict=False)) for row in rows]
    return {cell["FileName"]: (cell["Gender"], years_of(cell["PatientAge"])) for cell in cells}


def read_csv_recording(path: Path) -> Recording:
    """One CSV file in mV, leads in the order of `LEADS`; raises Unusable where it is not 5,000 lines of 12 numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        table = pd.read_csv(path, header=None, dtype=np.float64)  # with or without a byte-order mark
    except (OSError, ValueError) as error:  # pandas' own errors of parsing are ValueErrors
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    signal = table.to_numpy() * MILLIVOLTS_PER_MICROVOLT  # (n, 12)
    if signal.shape != (SAMPLES, len(LEADS)):
        raise Unusable(f"not {SAMPLES} lines of {len(LEADS)} leads: {signal.shape[0]} of {signal.shape[1]}")
    return checked_recording(signal, FS)
