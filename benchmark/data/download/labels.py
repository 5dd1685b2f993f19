"""CPSC2018's REFERENCE.csv, which no publisher's sum covers: its labels have to be those of the verified headers.

The headers list a recording's labels in another order than REFERENCE.csv, whose first label is the one that counts. So
what a damaged or exchanged table could change here is the order alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark.data.download.patients import cut_table
from benchmark.data.readers.cpsc2018 import CPSC2018, REFERENCE_COLUMNS, SNOMED
from benchmark.data.readers.errors import DatasetError, Unusable
from benchmark.data.readers.files.tables import read_table, whole_number
from benchmark.data.readers.files.wfdb_record import diagnosis_codes

MOST_DIFFERENT = 0.01
"""Share of the recordings whose labels may differ: 81 of 81 recordings that were compared agree."""


def place_reference(fetched: Path, root: Path, records: Sequence[str]) -> str:
    """Put the rows of the recordings into the dataset's folder; returns how far they agree with the headers.

    Raises DatasetError for a table that cannot be read or does not agree.
    """
    rows = read_table(CPSC2018(root), fetched, REFERENCE_COLUMNS).rows
    stated = {name: frozenset(map(_class_of, filter(None, labels))) for name, *labels in rows}
    names = {Path(record).name: root / record for record in records}
    agree = sum(stated.get(name) == _of_header(record) for name, record in names.items())
    said = f"its labels are those of the headers in {agree} of {len(names)} recordings"
    if len(names) - agree > MOST_DIFFERENT * len(names):
        raise DatasetError(f"{fetched.name} is not used: {said}")
    cut_table(fetched, root / "REFERENCE.csv", REFERENCE_COLUMNS[0], names.keys())
    return said


def _class_of(number: str) -> str:
    """A class by its number from 1; the number itself where there is no such class."""
    index = int(whole_number(number) or 0)
    return CPSC2018.classes[index - 1] if 1 <= index <= len(CPSC2018.classes) else number


def _of_header(record: Path) -> frozenset[str] | None:
    """The classes of a recording's header; None where it cannot be read."""
    try:
        codes = diagnosis_codes(record)
    except Unusable:
        return None
    return frozenset(SNOMED.get(code, code) for code in codes) & frozenset(CPSC2018.classes)
