"""The tables of a dataset for every reader and card: a faulty table is one DatasetError line, a faulty row a counted
skip. What stands in cells is made canonical by `benchmark.results.canonical`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from benchmark.data.datasets.base import DatasetError, DatasetInfo, Entry, Listing, Unusable
from benchmark.results.canonical import is_shortened, patient, text
from benchmark.results.files import impostor
from benchmark.results.names import reason_of
from benchmark.results.sheets import is_latin, present, read_columns

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, str]
"""Column -> cell."""
Skips = list[tuple[str, str]]
"""(recording, reason) of each recording that is skipped."""
Item = TypeVar("Item")

SHOWN = 60
"""Characters of a wrong cell that a reason shows."""
SHORTENED = "shortened by a spreadsheet; write it as text into the table"
"""End of the reason of a cell that has lost its digits."""


def read_table(
    dataset: DatasetInfo, path: Path, columns: Sequence[str] | None = None, further: re.Pattern[str] | None = None
) -> pd.DataFrame:
    """Read the named columns of a table in the given order, by default all; cells are strings without outer blanks.

    further: of the names of columns that are read too, where there are such.

    Raises DatasetError where the file cannot be read, has no rows or one longer than the header, or lacks a column.
    """
    try:
        return read_columns(path, columns, further)
    except FileNotFoundError:
        fault = f"no {path.name} in {path.parent}: copy it there, or correct its name"
    except OSError as error:
        fault = f"{path} cannot be read: {error.strerror}"
    except Exception as error:  # openpyxl and pyarrow raise any kind of error on a damaged file
        encoding = "; the file is not UTF-8 and was read as Latin-1: save it as UTF-8" if is_latin(path) else ""
        fault = f"{path} cannot be read: {impostor(present(path)) or reason_of(error)[:500]}{encoding}"
    raise DatasetError(f"{dataset.title}: {fault}. {dataset.how_to_get}".strip())


def group_rows(
    table: pd.DataFrame, key: str, identify: Callable[[str], str | None], free: Collection[str] = ()
) -> tuple[dict[str, list[Row]], Skips]:
    """Group the rows of a table by the recording in their cell `key`, normalised by `identify`; equal rows count once.

    Rows of one recording may differ in the columns `free` alone, else it is skipped, as a row without identifier is.
    """
    groups = defaultdict[str, list[Row]](list)
    skipped = Skips()
    for row in cast(list[Row], table.to_dict("records")):
        name = identify(row[key])
        if is_shortened(row[key]):
            skipped.append((row[key], f"recording's number {SHORTENED}: {row[key][:SHOWN]!r}"))
        elif not name:
            skipped.append((row[key][:SHOWN], f"no identifier: {row[key][:SHOWN]!r}"))
        elif (named := {**row, key: name}) not in groups[name]:
            groups[name].append(named)
    for name, same in [*groups.items()]:
        compared = same[0].keys() - {*free}
        if any(text(row[column]) != text(same[0][column]) for row in same for column in compared):
            skipped.append((name, f"listed twice; keep one row: {len(same)} rows differ"))
            del groups[name]
    return groups, skipped


def make_listing(
    items: Mapping[str, Item],
    entry_of: Callable[[str, Item], Entry],
    form: str,
    skipped: Iterable[tuple[str, str]] = (),
    warnings: tuple[str, ...] = (),
) -> Listing:
    """List an entry of each recording; one for which `entry_of` raises Unusable joins the skipped ones."""
    entries = list[Entry]()
    skips = [*skipped]
    for name, item in items.items():
        try:
            entries.append(entry_of(name, item))
        except Unusable as reason:
            skips.append((name, str(reason)))
    return Listing(tuple(entries), tuple(skips), form, warnings)


def patient_of(cell: str) -> str:
    """Return a person's canonical identifier, '' for a cell that names nobody.

    Raises Unusable for a number that a spreadsheet shortened: it has lost the digits that tell people apart.
    """
    if is_shortened(cell):
        raise Unusable(f"patient's number {SHORTENED}: {cell[:SHOWN]!r}")
    return patient(cell)
