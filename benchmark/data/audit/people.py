"""Sex and age of a dataset's recordings, from its own tables and headers; no signal is opened.

Entries hold them where a card names their columns. PTB-XL states them in its table (0 is male, 1 is female), the WFDB
forms of Chapman and CPSC2018 in the comments of their headers, Chapman's figshare form in its workbook. CPSC2018's
original structs state them beside the signals alone and are not opened for them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from benchmark.data.readers.base import Dataset, Entry, Unusable
from benchmark.data.readers.chapman import FIGSHARE_TABLES, Chapman
from benchmark.data.readers.files.sheets import read_workbook
from benchmark.data.readers.files.wfdb_record import header_text
from benchmark.data.readers.ptb_xl import PTBXL

Person = tuple[str, float | None]
"""Sex as stated, '' where it is not, and age in years."""
SEX_OF_PTB_XL = {"0": "male", "1": "female", "0.0": "male", "1.0": "female"}


def people_of(dataset: Dataset, entries: Sequence[Entry]) -> dict[str, Person]:
    """Recording -> sex and age, of those entries of which a dataset states either; {} where it states none."""
    told = {entry.recording: (entry.sex, entry.age) for entry in entries}
    if not any(sex or age is not None for sex, age in told.values()):
        table = _of_table(dataset)
        told = {own.recording: table.get(own.recording) or _of_headers(dataset.files(own)) for own in entries}
    return {recording: own for recording, own in told.items() if own[0] or own[1] is not None}


def _of_table(dataset: Dataset) -> dict[str, Person]:
    """Recording -> person, from the table of a dataset that has one; {} where it cannot be read."""
    try:
        if dataset.name == PTBXL.name:
            return dict(_of_ptb_xl(dataset.root / "ptbxl_database.csv"))
        tables = [dataset.root / name for name in FIGSHARE_TABLES if (dataset.root / name).is_file()]
        return dict(_of_figshare(tables[0])) if dataset.name == Chapman.name and tables else {}
    except (OSError, ValueError, csv.Error):
        return {}


def _of_ptb_xl(path: Path) -> Iterator[tuple[str, Person]]:
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            sex = SEX_OF_PTB_XL.get((row.get("sex") or "").strip(), "")
            yield str(row.get("ecg_id") or "").strip().partition(".")[0], (sex, years_of(row.get("age") or ""))


def _of_figshare(path: Path) -> Iterator[tuple[str, Person]]:
    header, *rows = read_workbook(path) or [[]]
    if not {"FileName", "Gender", "PatientAge"} - set(header):
        for row in rows:
            cell = dict(zip(header, row, strict=False))
            yield cell["FileName"], (cell["Gender"], years_of(cell["PatientAge"]))


def _of_headers(files: Sequence[Path]) -> Person:
    """The person of the comments `# Age: 63` and `#Sex: Female` of a recording's WFDB header, if it can be read."""
    said: dict[str, str] = {}
    for header in (path for path in files if path.suffix == ".hea"):
        with suppress(Unusable):
            for line in header_text(header).splitlines():
                name, _, stated = line.lstrip("# \t").partition(":")
                if line.startswith("#"):
                    said.setdefault(name.strip().lower(), stated.strip())
    return said.get("sex", ""), years_of(said.get("age", ""))


def years_of(text: str) -> float | None:
    """Years; None for a text that is no age. PTB-XL's 300 stands for more than 89 years."""
    try:
        years = float(text)
    except ValueError:
        return None
    return years if 0 <= years <= 120 or years == 300 else None
