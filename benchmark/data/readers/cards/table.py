"""The table of a card: rows as text by column, whatever kind of file it is."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path

from benchmark.data.readers.base import About, Dataset, DatasetError
from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.cells import identifier
from benchmark.data.readers.files.sheets import read_parquet, read_workbook
from benchmark.data.readers.files.tables import Table, header_of, keyed, read_table, select

SEPARATORS = (",", ";", "\t")
SHEETS: dict[str, Callable[[Path], list[list[str]]]] = {
    ".xlsx": read_workbook,
    ".parquet": read_parquet,
}
"""Suffix -> reader of a table that is no text."""


def columns_of(card: Card) -> list[str]:
    """The columns that a card names, that of the recordings (else of the paths) first, each once."""
    table = card.table
    if table is None:
        return []
    sides = table.sides
    named = [table.recording, table.path, table.patient, sides.column if sides else None]
    named += [table.report, table.sex, table.age, *(card.labels.columns if card.labels else ())]
    return list(dict.fromkeys(name for name in named if name))


def read_rows(dataset: Dataset, card: Card) -> Table:
    """The rows under `columns_of`, each recording once. Raises DatasetError for a missing table or column."""
    assert card.table is not None
    path = dataset.root / card.table.file
    if not path.is_file():
        raise DatasetError(f"{card.title}: no {card.table.file} in {dataset.root}; correct table.file")
    return keyed(read_columns(card, path, columns_of(card)), lambda name: identifier(name) or None)


def read_columns(dataset: About, path: Path, columns: Sequence[str]) -> Table:
    """The named columns of a table. Raises DatasetError for a missing column or an unreadable file."""
    if path.suffix.lower() in SHEETS:
        rows = _sheet(dataset, path)
        _check_columns(dataset, path, columns, rows[0] if rows else [])
        return select(dataset, path, enumerate(rows, start=1), columns)
    header, separator = header_and_separator(dataset, path)
    _check_columns(dataset, path, columns, header)
    return read_table(dataset, path, columns, separator=separator)


def header_of_table(dataset: About, path: Path) -> list[str]:
    """Names of the columns of a table. Raises DatasetError for an unreadable file."""
    if path.suffix.lower() in SHEETS:
        return next(iter(_sheet(dataset, path)), [])
    return header_and_separator(dataset, path)[0]


def header_and_separator(dataset: About, path: Path) -> tuple[list[str], str]:
    """Names of the columns of a text table, and what separates them: what stands most often in the first line."""
    line = header_of(dataset, path)
    separator = max(SEPARATORS, key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=separator), [])], separator


def _sheet(dataset: About, path: Path) -> list[list[str]]:
    try:
        return SHEETS[path.suffix.lower()](path)
    except ValueError as error:
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {error}") from error


def _check_columns(dataset: About, path: Path, columns: Sequence[str], header: Sequence[str]) -> None:
    """Raise DatasetError for a column that is not there, with the nearest and all that are."""
    lacking = [name for name in columns if name not in header]
    if lacking:
        near = get_close_matches(lacking[0], header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise DatasetError(
            f"{dataset.title}: {path} has no column {lacking[0]!r}{hint}; there are {', '.join(header)[:500]}"
        )
