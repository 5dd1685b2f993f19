"""Tables of recordings that a test makes up or alters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmark.data.datasets.base import Entry
from benchmark.data.prepare import Prepared
from benchmark.data.recordings import RecordingTable, Row, row_of, table_of


def rows_of(recordings: RecordingTable) -> list[Row]:
    """The rows of a table."""
    return [recordings.row(number) for number in range(len(recordings))]


def table(entries: Sequence[Entry], **columns: Sequence[Any]) -> RecordingTable:
    """The table of some entries, with further columns; first windows follow from their numbers."""
    rows = [row_of(entry) for entry in entries]
    for name, cells in columns.items():
        for row, cell in zip(rows, cells, strict=True):
            row[name] = cell
    return table_of(rows)


def with_cells(data: Prepared, **columns: Sequence[Any]) -> Prepared:
    """Prepared data with other cells in some columns of their usable recordings."""
    rows = rows_of(data.listed)
    for name, cells in columns.items():
        for row, cell in zip(rows[: data.usable], cells, strict=True):
            row[name] = cell
    return replace(data, listed=table_of(rows))


def with_skipped(data: Prepared, skipped: Sequence[Row]) -> Prepared:
    """Prepared data with these recordings left out beside the usable ones."""
    return replace(data, listed=table_of([*rows_of(data.recordings), *skipped]))
