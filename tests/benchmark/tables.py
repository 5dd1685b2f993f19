"""Tables of recordings that a test makes up or alters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmark.data.datasets.base import LEADS, Entry
from benchmark.data.prepare import Prepared
from benchmark.data.recordings import RecordingTable, table_of
from benchmark.data.trials import Trials
from benchmark.results.arrays import Halves, Ints


def rows_of(recordings: RecordingTable) -> list[Entry]:
    """The rows of a table."""
    return [recordings.row(number) for number in range(len(recordings))]


def table(entries: Sequence[Entry], **columns: Sequence[Any]) -> RecordingTable:
    """The table of some entries, with further columns; first windows follow from their numbers."""
    rows = [*entries]
    for name, cells in columns.items():
        rows = [replace(row, **{name: cell}) for row, cell in zip(rows, cells, strict=True)]
    return table_of(rows)


def with_cells(data: Prepared, **columns: Sequence[Any]) -> Prepared:
    """Prepared data with other cells in some columns of their usable recordings."""
    rows = rows_of(data.recordings)
    for name, cells in columns.items():
        rows = [replace(row, **{name: cell}) for row, cell in zip(rows, cells, strict=True)]
    return replace(data, listed=table_of([*rows, *rows_of(data.skipped)]))


def whole_trials(trials: Trials, numbers: Ints) -> Halves:
    """(n, P * S, 12) numbered pseudo-trials."""
    windows = trials.windows(trials.windows_in(numbers))  # (n * P, S, 12)
    return windows.reshape(len(numbers), trials.per_trial * trials.window, len(LEADS))


def with_skipped(data: Prepared, skipped: Sequence[Entry]) -> Prepared:
    """Prepared data with these recordings left out beside the usable ones."""
    return replace(data, listed=table_of([*rows_of(data.recordings), *skipped]))
