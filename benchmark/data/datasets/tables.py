"""The tables of a dataset, every cell as text: CSV, the first sheet of a workbook (.xlsx) and Parquet.

What a cell says of a patient, or of yes and no, is judged here for every reader and card. A faulty table is one
DatasetError line, a faulty row a counted skip.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.data.datasets.base import About, DatasetError, Entry, Listing, Unusable

Row = tuple[str, ...]
WHOLE_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0*)?", re.ASCII)
SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.ASCII | re.IGNORECASE)
NEGATIVE = re.compile(r"-\d+(\.0*)?", re.ASCII)
NOT_STATED = re.compile(r"(nan?|n/a|#n/a|<na>|nat|none|null|nil|unknown|unk|missing|-|\?)?", re.IGNORECASE)
"""Cells that state nothing."""
TRUTHS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
"""Truth values in lower case."""
SHOWN = 60
"""Characters of a wrong cell that a reason shows."""
SEPARATORS = (",", ";", "\t", "|")
BINARY = (".xlsx", ".parquet")
"""Suffixes of tables that are no text."""


class Table(NamedTuple):
    """The rows of a table, and its rejected lines."""

    rows: list[Row]
    skipped: list[tuple[str, str]]
    """(recording, or file and line where the recording is not known; reason)."""


def is_utf8(path: Path) -> bool:
    """Tell whether a text file is UTF-8; any other kind of table counts as such."""
    try:
        return path.suffix.lower() in BINARY or path.read_bytes().decode() is not None
    except UnicodeDecodeError:
        return False


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of each row that is not blank, the header first. Raises any error of a damaged file."""
    if path.suffix.lower() == ".xlsx":
        sheet = pd.read_excel(path, header=None, dtype=object, keep_default_na=False)
        rows = sheet.to_numpy(object).tolist()
    elif path.suffix.lower() == ".parquet":
        frame = pd.read_parquet(path)
        frame = frame if frame.index.name is None else frame.reset_index()  # a named index is a column
        rows = [list(frame.columns), *frame.astype(object).to_numpy().tolist()]
    else:
        with open(path, encoding="utf-8-sig" if is_utf8(path) else "latin-1", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, strict=True, delimiter=max(SEPARATORS, key=first.count))
            return [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if cells]
    texts = [(number, list(map(_text, row))) for number, row in enumerate(rows, start=1)]
    return [(number, cells) for number, cells in texts if any(cells)]


def _text(cell: Any) -> str:
    """A cell as text: '' for none or NaN, a whole number without point."""
    if cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def read_columns(dataset: About, path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Read the names of a table's columns, and its other rows with their lines. Raises DatasetError."""
    try:
        (_, header), *lines = _lines(path)
    except ImportError:
        raise DatasetError(f"{dataset.title}: {path} needs pyarrow: pip install '.[formats]'") from None
    except Exception as error:  # openpyxl and pyarrow raise any kind of error on a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {reason}. {dataset.how_to_get}".strip()) from error
    return header, lines


def read_table(dataset: About, path: Path, columns: Sequence[str]) -> Table:
    """Read the named columns of a table in the given order, every cell a string without outer blanks.

    Raises DatasetError where the file cannot be read, has no rows, or lacks one of the columns.
    """
    if not path.is_file():
        raise DatasetError(f"{dataset.title}: no {path.name} in {path.parent}. {dataset.how_to_get}".strip())
    header, lines = read_columns(dataset, path)
    fault = ""
    if missing := [name for name in columns if name not in header]:
        near = get_close_matches(missing[0], header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        encoding = "" if is_utf8(path) else "; the file is not UTF-8 and was read as Latin-1: save it as UTF-8"
        names = ", ".join(name or "without a name" for name in missing)
        fault = f"has no column {names}{hint}; there are {', '.join(header)[:500]}{encoding}"
    elif repeated := [name for name in columns if header.count(name) > 1]:
        fault = f"has two columns {', '.join(repeated)}"
    elif not lines:
        fault = "has no rows"
    if fault:
        raise DatasetError(f"{dataset.title}: {path} {fault}. {dataset.how_to_get}".strip())
    positions = [header.index(name) for name in columns]
    rows = [tuple(cells[position] for position in positions) for _, cells in lines if len(cells) == len(header)]
    skipped = [
        (f"{path.name} line {number}", f"ragged row: {len(cells)} cells, the header has {len(header)}")
        for number, cells in lines
        if len(cells) != len(header)
    ]
    return Table(rows, skipped)


def keyed(table: Table, identify: Callable[[str], str | None]) -> Table:
    """Normalise the first cell of each row, a unique identifier; `identify` returns None for an invalid one.

    Equal rows count once; differing rows of one identifier are all skipped.
    """
    rows, skipped = dict[Row, None](), list(table.skipped)
    for text, *rest in table.rows:
        name = identify(text)
        if name is None:
            skipped.append((text[:SHOWN], f"no identifier: {text[:SHOWN]!r}"))
        else:
            rows[name, *rest] = None
    times = Counter(row[0] for row in rows)
    skipped += [(name, f"listed twice: {count} rows differ") for name, count in times.items() if count > 1]
    return Table([row for row in rows if times[row[0]] == 1], skipped)


def listing_of(
    table: Table,
    entry_of: Callable[[Row], Entry],
    *,
    form: str,
    others: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Listing:
    """List an entry of each row; a row for which `entry_of` raises Unusable is skipped with that reason."""
    entries, skipped = [], list(table.skipped)
    for row in table.rows:
        try:
            entries.append(entry_of(row))
        except Unusable as reason:
            skipped.append((row[0], str(reason)))
    return Listing(tuple(entries), tuple(skipped), form, tuple(others), tuple(warnings))


def whole_number(text: str) -> str | None:
    """Return '10000032' of '10000032' or of '10000032.0', as spreadsheets and float columns write it.

    None for anything else: '1.00E+07' has lost the digits that tell patients apart.
    """
    match = WHOLE_NUMBER.fullmatch(text)
    return match.group(1) if match else None


def patient_of(text: str) -> str:
    """Return a person's identifier, a whole number without leading zeros and point; '' for a cell that names nobody.

    Raises Unusable for a number that a spreadsheet shortened: it has lost the digits that tell people apart.
    """
    if (number := whole_number(text)) is not None:
        return number
    if SHORTENED.fullmatch(text):
        raise Unusable(f"patient's number shortened by a spreadsheet; write it as text into the table: {text!r}")
    return "" if NOT_STATED.fullmatch(text) or NEGATIVE.fullmatch(text) else text


def spelling_warnings(cells: Iterable[str]) -> list[str]:
    """Warn where cells of patients that are one whole number are spelt in several ways."""
    spellings: dict[str, dict[str, None]] = {}
    for text in cells:
        if (number := whole_number(text)) is not None:
            spellings.setdefault(number, {})[text] = None
    several = [" and ".join(map(repr, texts)) for texts in spellings.values() if len(texts) > 1]
    count = f"{len(several)} of {len(spellings)} patients"
    return [f"{count} are spelt in several ways, each read as one patient: {several[0]}"] if several else []


def truth(text: str) -> bool | None:
    """Whether a cell says yes: '1', '1.00', 'True', 'yes', or no: '0', '0.0', 'False', 'no'; None for anything else."""
    return TRUTHS.get(whole_number(text) or text.lower())
