"""The tables of a dataset as text: CSV, the first sheet of a workbook (.xlsx) and Parquet; what identifiers, patients
and yes or no in their cells are, for every reader and card. A faulty table is one DatasetError line, a faulty row a
counted skip.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from benchmark.data.datasets.base import DatasetError, DatasetInfo, Entry, Listing, Unusable

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]
"""Column -> cell."""
Skips = list[tuple[str, str]]
"""(recording, reason) of each recording that is skipped."""
Item = TypeVar("Item")

WHOLE_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0*)?", re.ASCII)
SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d+", re.ASCII | re.IGNORECASE)
NOT_STATED = re.compile(
    r"(nan?|n/a|n\.a\.|#n/a|<na>|nat|none|null|nil|unknown|not known|unk|missing|-|\?)?", re.IGNORECASE
)
"""Cells that state nothing."""
TRUTHS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
SHOWN = 60
"""Characters of a wrong cell that a reason shows."""
SEPARATORS = ("\t", ";", "|", ",")


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file: UTF-8, else Latin-1, as which any can be read."""
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def is_latin(path: Path) -> bool:
    """Tell whether a table is read as Latin-1, which is a guess."""
    return path.suffix.lower() not in (".xlsx", ".parquet") and encoding_of(path) == "latin-1"


def separator_of(first: str, second: str) -> str:
    """Return what separates cells: the first that two lines have equally often, e.g. beside decimal commas."""
    fitting = [separator for separator in SEPARATORS if 0 < first.count(separator) == second.count(separator)]
    return fitting[0] if fitting else max(SEPARATORS[::-1], key=first.count)


def read_cells(path: Path) -> pd.DataFrame:
    """Read the rows that are not blank, header first, as text without outer blanks; short ones end in blank cells.

    Raises any error of a damaged file.
    """
    import pandas as pd  # here, because it loads slowly and the names of datasets need none of it

    if path.suffix.lower() == ".xlsx":
        cells = pd.read_excel(path, header=None, dtype=str, keep_default_na=False)
    else:
        if path.suffix.lower() == ".parquet":
            frame = pd.read_parquet(path)
            text = frame.to_csv(index=frame.index.name is not None)  # a named index is a column
        else:
            text = path.read_text(encoding_of(path))
        separator = separator_of(*f"{text}\n\n".split("\n", 2)[:2])
        cells = pd.read_csv(io.StringIO(text), sep=separator, header=None, dtype=str, keep_default_na=False)
    stripped: pd.DataFrame = cells.apply(lambda column: column.str.strip())
    return stripped[(stripped != "").any(axis=1)]


def read_table(dataset: DatasetInfo, path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read the named columns of a table in the given order, by default all; cells are strings without outer blanks.

    Raises DatasetError where the file cannot be read, has no rows or one longer than the header, or lacks a column.
    """
    try:
        if not path.is_file():  # a folder, or a device that has no end
            raise FileNotFoundError
        cells = read_cells(path)
        header, rows = cells.iloc[0].tolist(), cells.iloc[1:]
        names = [name for name in header if name and header.count(name) == 1] if columns is None else [*columns]
        if wrong := [name for name in names if header.count(name) != 1]:
            near = get_close_matches(wrong[0], {*header} - {wrong[0]}, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"there is {'more than one' if wrong[0] in header else 'no'} column {', '.join(wrong)}{hint}; "
                f"there are {', '.join(header)}"
            )
        if rows.empty:
            raise ValueError("it has no rows")
        return rows.set_axis(header, axis=1)[names]
    except FileNotFoundError:
        fault = f"no {path.name} in {path.parent}"
    except OSError as error:
        fault = f"{path} cannot be read: {error.strerror}"
    except Exception as error:  # openpyxl and pyarrow raise any kind of error on a damaged file
        encoding = "; the file is not UTF-8 and was read as Latin-1: save it as UTF-8" if is_latin(path) else ""
        fault = f"{path} cannot be read: {' '.join(str(error).split())[:500]}{encoding}"
    raise DatasetError(f"{dataset.title}: {fault}. {dataset.how_to_get}".strip())


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
    for name, same in [*groups.items()]:
        if any(row[column] != same[0][column] for row in same for column in row.keys() - {*free}):
            skipped.append((name, f"listed twice; keep one row: {len(same)} rows differ"))
            del groups[name]
    return groups, skipped


def make_listing(
    items: Mapping[str, Item],
    entry_of: Callable[[str, Item], Entry],
    form: str,
    skipped: Iterable[tuple[str, str]] = (),
) -> Listing:
    """List an entry of each recording; one for which `entry_of` raises Unusable joins the skipped ones."""
    entries, skips = list[Entry](), [*skipped]
    for name, item in items.items():
        try:
            entries.append(entry_of(name, item))
        except Unusable as reason:
            skips.append((name, str(reason)))
    return Listing(tuple(entries), tuple(skips), form)


def identifier(text: str) -> str:
    """Return '15709' of '15709.0', as spreadsheets and float columns write whole numbers; any other text as it is."""
    return re.sub(r"^(\d+)\.0*$", r"\1", text)


def whole_number(text: str) -> str | None:
    """Return '10000032' of '10000032', '010000032' or '10000032.0'; None for anything else."""
    match = WHOLE_NUMBER.fullmatch(text)
    return match[1] if match else None


def patient_of(text: str) -> str:
    """Return a person's identifier, a whole number without leading zeros and point; '' for a cell that names nobody.

    Raises Unusable for a number that a spreadsheet shortened: it has lost the digits that tell people apart.
    """
    if SHORTENED.fullmatch(text):
        raise Unusable(f"patient's number shortened by a spreadsheet; write it as text into the table: {text!r}")
    return whole_number(text) or ("" if NOT_STATED.fullmatch(text) or text.startswith("-") else text)


def truth(text: str) -> bool | None:
    """Tell whether a cell says yes ('1', '1.00', 'True', 'yes') or no ('0', '0.0', 'False', 'no'); else None."""
    return TRUTHS.get(whole_number(text) or text.lower())
