"""The tables of a dataset as text: CSV, the first sheet of a workbook (.xlsx) and Parquet; what identifiers, patients
and yes or no in their cells are, for every reader and card. A faulty table is one DatasetError line, a faulty row a
counted skip.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from benchmark.data.datasets.base import DatasetError, DatasetInfo, Entry, Unusable

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]
"""Column -> cell."""
Skips = list[tuple[str, str]]
"""(recording, reason) of each recording that is skipped."""
Item = TypeVar("Item")

WHOLE_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0*)?", re.ASCII)
FLOAT_FORM = re.compile(r"(\d+)\.0*", re.ASCII)
SHORTENED = re.compile(r"\d(\.\d+)?E\+\d+", re.ASCII | re.IGNORECASE)
NEGATIVE = re.compile(r"-\d+(\.0*)?", re.ASCII)
NOT_STATED = re.compile(
    r"(nan?|n/a|n\.a\.|#n/a|<na>|nat|none|null|nil|unknown|not known|unk|missing|-|\?)?", re.IGNORECASE
)
"""Cells that state nothing."""
TRUTHS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
SHOWN = 60
"""Characters of a wrong cell that a reason shows."""
SEPARATORS = ("\t", ";", "|", ",")


def is_utf8(path: Path) -> bool:
    """Tell whether a text file is UTF-8; any other kind of table counts as such."""
    try:
        return path.suffix.lower() in (".xlsx", ".parquet") or path.read_bytes().decode() is not None
    except UnicodeDecodeError:
        return False


def read_cells(path: Path) -> list[list[str]]:
    """Read the cells of each row that is not blank, without outer blanks. Raises any error of a damaged file."""
    import pandas as pd  # here, because it loads slowly and the names of datasets need none of it

    if path.suffix.lower() == ".xlsx":
        rows = pd.read_excel(path, header=None, dtype=object, keep_default_na=False).to_numpy(object).tolist()
    elif path.suffix.lower() == ".parquet":
        frame = pd.read_parquet(path)
        frame = frame if frame.index.name is None else frame.reset_index()  # a named index is a column
        rows = [list(frame.columns), *frame.astype(object).to_numpy().tolist()]
    else:
        with open(path, encoding="utf-8-sig" if is_utf8(path) else "latin-1", newline="") as file:
            first, second = file.readline(), file.readline()
            file.seek(0)
            reader = csv.reader(file, strict=True, delimiter=separator_of(first, second))
            texts = [[cell.strip() for cell in row] for row in reader]
        return [cells for cells in texts if any(cells)]
    return [cells for cells in ([_text(cell) for cell in row] for row in rows) if any(cells)]


def separator_of(first: str, second: str) -> str:
    """Return what separates cells: the first that two lines have equally often, e.g. beside decimal commas."""
    fitting = [separator for separator in SEPARATORS if 0 < first.count(separator) == second.count(separator)]
    return fitting[0] if fitting else max(SEPARATORS[::-1], key=first.count)


def _text(cell: Any) -> str:
    """A cell as text: '' for none or NaN, a whole number without point."""
    import pandas as pd

    if pd.api.types.is_scalar(cell) and pd.isna(cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def read_table(dataset: DatasetInfo, path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read the named columns of a table in the given order, by default all; cells are strings without outer blanks.

    Raises DatasetError where the file cannot be read, has no rows or rows of several lengths, or lacks a column.
    """
    try:
        header, *rows = read_cells(path)
    except FileNotFoundError:
        raise DatasetError(f"{dataset.title}: no {path.name} in {path.parent}. {dataset.how_to_get}".strip()) from None
    except ImportError:
        raise DatasetError(f"{dataset.title}: {path} needs pyarrow: pip install '.[formats]'") from None
    except Exception as error:  # openpyxl and pyarrow raise any kind of error on a damaged file
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {reason}. {dataset.how_to_get}".strip()) from error
    fault, wanted = "", [name for name in header if name and header.count(name) == 1] if columns is None else columns
    ragged = next((row for row in rows if len(row) != len(header)), None)
    if missing := [name for name in wanted if name not in header]:
        near = get_close_matches(missing[0], header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        encoding = "" if is_utf8(path) else "; the file is not UTF-8 and was read as Latin-1: save it as UTF-8"
        fault = f"has no column {', '.join(missing)}{hint}; there are {', '.join(header)[:500]}{encoding}"
    elif repeated := [name for name in wanted if header.count(name) > 1]:
        fault = f"has two columns {', '.join(repeated)}"
    elif not rows:
        fault = "has no rows"
    elif ragged is not None:
        fault = f"has {len(header)} columns, and the row of {ragged[0][:SHOWN]!r} {len(ragged)} cells: correct it"
    if fault:
        raise DatasetError(f"{dataset.title}: {path} {fault}. {dataset.how_to_get}".strip())
    import pandas as pd  # here, because it loads slowly

    positions = [header.index(name) for name in wanted]
    return pd.DataFrame(
        [[row[position] for position in positions] for row in rows], columns=pd.Index(wanted), dtype=object
    )


def group_rows(
    table: pd.DataFrame, key: str, identify: Callable[[str], str | None], free: Collection[str] = ()
) -> tuple[dict[str, list[Row]], Skips]:
    """Group the rows of a table by the recording in their cell `key`, normalised by `identify`; equal rows count once.

    Rows of one recording may differ in the columns `free` alone, else it is skipped, as a row without identifier is.
    """
    groups, skipped = defaultdict[str, list[Row]](list), Skips()
    for row in cast(list[Row], table.to_dict("records")):
        name = identify(row[key])
        if not name:
            skipped.append((row[key][:SHOWN], f"no identifier: {row[key][:SHOWN]!r}"))
        elif (named := {**row, key: name}) not in groups[name]:
            groups[name].append(named)
    for name, same in [(name, same) for name, same in groups.items() if len(same) > 1]:
        if any(row[column] != same[0][column] for row in same for column in row.keys() - {*free}):
            skipped.append((name, f"listed twice; keep one row: {len(same)} rows differ"))
            del groups[name]
    return groups, skipped


def make_entries(items: Mapping[str, Item], entry_of: Callable[[str, Item], Entry]) -> tuple[list[Entry], Skips]:
    """Make an entry of each recording; one for which `entry_of` raises Unusable is skipped with that reason."""
    entries, skipped = list[Entry](), Skips()
    for name, item in items.items():
        try:
            entries.append(entry_of(name, item))
        except Unusable as reason:
            skipped.append((name, str(reason)))
    return entries, skipped


def identifier(text: str) -> str:
    """Return '15709' of '15709.0', as spreadsheets and float columns write whole numbers; any other text as it is."""
    whole = FLOAT_FORM.fullmatch(text)
    return whole[1] if whole else text


def whole_number(text: str) -> str | None:
    """Return '10000032' of '10000032', '010000032' or '10000032.0'; None for anything else."""
    match = WHOLE_NUMBER.fullmatch(text)
    return match[1] if match else None


def patient_of(text: str) -> str:
    """Return a person's identifier, a whole number without leading zeros and point; '' for a cell that names nobody.

    Raises Unusable for a number that a spreadsheet shortened: it has lost the digits that tell people apart.
    """
    if (number := whole_number(text)) is not None:
        return number
    if SHORTENED.fullmatch(text):
        raise Unusable(f"patient's number shortened by a spreadsheet; write it as text into the table: {text!r}")
    return "" if NOT_STATED.fullmatch(text) or NEGATIVE.fullmatch(text) else text


def truth(text: str) -> bool | None:
    """Whether a cell says yes: '1', '1.00', 'True', 'yes', or no: '0', '0.0', 'False', 'no'; None for anything else."""
    return TRUTHS.get(whole_number(text) or text.lower())
