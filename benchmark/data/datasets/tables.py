"""The tables of a dataset, every cell as text: CSV, the first sheet of a workbook (.xlsx) and Parquet.

A faulty table is one DatasetError line, a faulty row a counted skip.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from difflib import get_close_matches
from itertools import repeat
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd

from benchmark.data.datasets.base import About, DatasetError, Entry, Listing, Unusable
from benchmark.results.files import MEBIBYTE, require_regular

Row = tuple[str, ...]
WHOLE_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0*)?", re.ASCII)
SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.ASCII | re.IGNORECASE)
NEGATIVE = re.compile(r"-\d+(\.0*)?", re.ASCII)
NOT_STATED = (
    "",
    "nan",
    "na",
    "n/a",
    "#n/a",
    "<na>",
    "nat",
    "none",
    "null",
    "nil",
    "unknown",
    "unk",
    "missing",
    "-",
    "?",
)
"""Cells in lower case that state nothing."""
LARGEST_TABLE = 2048 * MEBIBYTE
"""Bytes; the largest of MIMIC-IV-ECG has 0.2 GiB."""
TRUTHS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
"""Truth values in lower case."""
SHOWN = 60
"""Characters of a wrong cell that a reason shows."""
LONGEST_NAME, LONGEST_PATH = 250, 2000
"""Bytes of a file name and of a path that every file system takes."""
SEPARATORS = (",", ";", "\t", "|")


class Table(NamedTuple):
    """The rows of a table, and its rejected lines."""

    rows: list[Row]
    skipped: list[tuple[str, str]]
    """(recording, or file and line where the recording is not known; reason)."""
    lines: Sequence[int] = ()
    """Line of each row's end in the file."""


def numbered_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row, the header first. Raises OSError, ValueError for what is no table.

    Text is UTF-8, else Latin-1; what stands most often in the first line separates its cells.
    """
    require_regular(path, path.stat(), LARGEST_TABLE)
    if path.suffix.lower() in SHEETS:
        yield from enumerate(SHEETS[path.suffix.lower()](path), start=1)
        return
    with open(path, encoding="utf-8-sig" if is_utf8(path) else "latin-1", newline="") as file:
        first = file.readline()
        file.seek(0)
        reader = csv.reader(file, strict=True, delimiter=max(SEPARATORS, key=first.count))
        try:
            yield from ((reader.line_num, cells) for cells in reader)
        except csv.Error as error:
            raise ValueError(f"line {reader.line_num}: {error}") from None


def is_utf8(path: Path) -> bool:
    """Whether a text file is UTF-8; any other kind of table counts as such."""
    if path.suffix.lower() in SHEETS:
        return True
    with open(path, "rb") as file:
        try:
            for line in file:
                line.decode()
        except UnicodeDecodeError:
            return False
    return True


def header_of(dataset: About, path: Path) -> list[str]:
    """Names of the columns of a table. Raises DatasetError where the file cannot be read."""
    try:
        _, cells = next(numbered_rows(path), (0, []))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {error}. {dataset.how_to_get}") from error
    return [name.strip() for name in cells]


def read_table(dataset: About, path: Path, columns: Sequence[str]) -> Table:
    """The named columns of a table in the order asked for, every cell a string without outer blanks.

    Raises DatasetError where the file cannot be read, has no rows, or lacks one of the columns.
    """
    if not path.is_file():
        raise DatasetError(f"{dataset.title}: no {path.name} in {path.parent}. {dataset.how_to_get}")
    lines: list[int] = []
    table, header = Table([], [], lines), header_of(dataset, path)
    if missing := [name for name in columns if name not in header]:
        near = get_close_matches(missing[0], header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        encoding = "" if is_utf8(path) else "; the file is not UTF-8 and was read as Latin-1: save it as UTF-8"
        raise DatasetError(
            f"{dataset.title}: {path} has no column {', '.join(name or 'without a name' for name in missing)}{hint}; "
            f"there are {', '.join(header)[:500]}{encoding}. {dataset.how_to_get}".strip()
        )
    if repeated := [name for name in columns if header.count(name) > 1]:
        raise DatasetError(
            f"{dataset.title}: {path} has two columns {', '.join(repeated)}. {dataset.how_to_get}".strip()
        )
    places = [header.index(name) for name in columns]
    try:
        for number, cells in numbered_rows(path):
            if len(cells) == len(header):
                table.rows.append(tuple(cells[place].strip() for place in places))
                lines.append(number)
            elif cells:
                reason = f"ragged row: {len(cells)} cells, the header has {len(header)}"
                table.skipped.append((f"{path.name} line {number}", reason))
    except (OSError, ValueError) as error:
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {error}. {dataset.how_to_get}") from error
    del table.rows[:1], lines[:1]  # the header
    if not table.rows:
        raise DatasetError(f"{dataset.title}: {path} has no rows. {dataset.how_to_get}")
    return table


def keyed(table: Table, identify: Callable[[str], str | None]) -> Table:
    """The table with a unique, normalised identifier as the first cell of each row.

    `identify` returns the normalised identifier, None for an invalid one. Equal rows count once; differing rows of one
    identifier are all skipped.
    """
    rows: dict[Row, int] = {}
    skipped = list(table.skipped)
    for (text, *rest), line in zip(table.rows, table.lines or repeat(0), strict=False):
        name = identify(text)
        if name is None:
            skipped.append((text[:SHOWN], f"no identifier: {text[:SHOWN]!r}"))
        else:
            rows.setdefault((name, *rest), line)
    times = Counter(row[0] for row in rows)
    skipped += [(name, f"listed twice: {count} rows differ") for name, count in times.items() if count > 1]
    kept = {row: line for row, line in rows.items() if times[row[0]] == 1}
    return Table(list(kept), skipped, list(kept.values()))


def listing_of(
    table: Table,
    entry_of: Callable[[Row], Entry],
    *,
    form: str,
    others: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Listing:
    """An entry of each row; a row for which `entry_of` raises Unusable is skipped with that reason."""
    entries, skipped = [], list(table.skipped)
    for row in table.rows:
        try:
            entries.append(entry_of(row))
        except Unusable as reason:
            skipped.append((row[0], str(reason)))
    return Listing(tuple(entries), tuple(skipped), form, tuple(others), tuple(warnings))


def whole_number(text: str) -> str | None:
    """'10000032' from '10000032' or from '10000032.0', as spreadsheets and float columns write it.

    None for anything else: '1.00E+07' has lost the digits that tell patients apart.
    """
    match = WHOLE_NUMBER.fullmatch(text)
    return match.group(1) if match else None


def patient_of(text: str) -> str:
    """A person's identifier, a whole number without leading zeros and point; '' for a cell that names nobody.

    Raises Unusable for a number that a spreadsheet shortened: it has lost the digits that tell people apart.
    """
    if (number := whole_number(text)) is not None:
        return number
    if SHORTENED.fullmatch(text):
        raise Unusable(f"patient's number shortened by a spreadsheet; write it as text into the table: {text!r}")
    return "" if text.lower() in NOT_STATED or NEGATIVE.fullmatch(text) else text


OLDEST = 120
"""Years."""
AGE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?(d|w|m|y|yrs?|years?)", re.ASCII | re.IGNORECASE)
"""An age with its unit, as in '056Y' of DICOM."""
PER_YEAR = {"d": 365.25, "w": 365.25 / 7, "m": 12, "y": 1}


def years_of(text: str) -> float | None:
    """Years, of '56', '056Y' or '018M'; None for a text that is no age. PTB-XL's 300 stands for more than 89 years."""
    stated = AGE.fullmatch(text.strip())
    try:
        years = float(stated[1]) / PER_YEAR[stated[2][0].lower()] if stated else float(text)
    except ValueError:
        return None
    return years if 0 <= years <= OLDEST or years == 300 else None


def truth(text: str) -> bool | None:
    """Whether a cell says yes: '1', '1.00', 'True', 'yes', or no: '0', '0.0', 'False', 'no'; None for anything else."""
    return TRUTHS.get(whole_number(text) or text.lower())


def spelt_apart(what: str, texts: Iterable[str]) -> list[str]:
    """A warning where cells that `whole_number` takes for one identifier are spelt in several ways, else nothing."""
    spellings: dict[str, dict[str, None]] = {}
    for text in texts:
        if (number := whole_number(text)) is not None:
            spellings.setdefault(number, {})[text] = None
    several = [list(ways) for ways in spellings.values() if len(ways) > 1]
    if not several:
        return []
    example = " and ".join(map(repr, several[0]))
    return [f"{len(several)} of {len(spellings)} {what}s are spelt in several ways, each read as one {what}: {example}"]


def path_within(text: str) -> str:
    """A table's path, unchanged. Raises Unusable if it leaves the dataset's folder or is not a valid path."""
    parts = PurePosixPath(text).parts
    inside = bool(parts) and not text.startswith("/") and ".." not in parts and text.isprintable()
    if not inside or len(text.encode()) > LONGEST_PATH or any(len(part.encode()) > LONGEST_NAME for part in parts):
        raise Unusable(f"path refused: {text[:SHOWN]!r}")
    return text


def read_workbook(path: Path) -> list[list[str]]:
    """The rows of the first sheet that are not blank, the header first. Raises ValueError where it is no workbook."""
    import openpyxl  # here, because it loads slowly

    try:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            cells = [[_text(cell) for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:  # openpyxl raises any kind of error on a damaged archive
        raise ValueError(str(error)) from error
    width = max(map(len, cells), default=0)  # rows end where their last cell does
    return [[*row, *[""] * (width - len(row))] for row in cells if any(row)]


def read_parquet(path: Path) -> list[list[str]]:
    """The rows of a Parquet file, the names of its columns first. Raises ValueError where it cannot be read."""
    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise ValueError("Parquet files need pyarrow: pip install '.[formats]'") from None
    except Exception as error:  # pyarrow raises any kind of error on a damaged file
        raise ValueError(" ".join(str(error).split())[:200]) from error
    if table.index.name is not None:  # a data frame's index is a column of its table
        table = table.reset_index()
    columns = [[_text(cell) for cell in table[name].tolist()] for name in table.columns]
    return [[str(name) for name in table.columns], *map(list, zip(*columns, strict=True))]


SHEETS = {".xlsx": read_workbook, ".parquet": read_parquet}
"""Suffix -> reader of a table that is no text."""


def _text(cell: Any) -> str:
    """A cell as text: '' for none or NaN, a whole number without point."""
    if cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
