"""The table of recordings: a row for each that a dataset lists, in columns that are mapped from a file, not parsed.

The usable recordings come first, in the order of the listing; then those that are left out, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import Entry
from benchmark.results.arrays import Bools, Doubles, Ints

BLANK = vars(Entry(recording="", patient=""))
"""Column -> its cell where nothing is known."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """A column of R texts, or of R tuples of whole numbers."""

    values: NDArray[Any]
    """(n,) bytes of the texts in UTF-8, or numbers, row after row."""
    start: Ints
    """(R + 1,) a row has the values from its start to the next one."""

    def __iter__(self) -> Iterator[Any]:
        for begin, end in pairwise(self.start.tolist()):
            yield self._cell(begin, end)

    def __getitem__(self, rows: int | slice) -> Any:
        """Return the text or the numbers of a row, or the column of consecutive rows."""
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(len(self.start) - 1)
            return Ragged(self.values, self.start[begin : end + 1])
        return self._cell(self.start[rows], self.start[rows + 1])

    def _cell(self, begin: int, end: int) -> str | tuple[int, ...]:
        values = self.values[begin:end]
        if values.dtype == np.uint8:
            return values.tobytes().decode(errors="surrogatepass")
        return tuple(values.tolist())


def text_column(texts: Sequence[str]) -> Ragged:
    """Make a column of texts, which may hold the undecodable bytes of a file's name."""
    encoded = [text.encode(errors="surrogatepass") for text in texts]
    return Ragged(np.frombuffer(b"".join(encoded), np.uint8), starts_of(encoded))


def number_column(cells: Sequence[Sequence[int]]) -> Ragged:
    """Make a column of whole numbers."""
    return Ragged(np.array([*chain.from_iterable(cells)], np.int64), starts_of(cells))


def starts_of(cells: Sequence[Sequence[Any]]) -> Ints:
    """Return where each of R cells begins and the last one ends, (R + 1,)."""
    return np.cumsum([0, *map(len, cells)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RecordingTable:
    """The recordings of a dataset in columns, R rows: of each the cells of its `Entry`."""

    recording: Ragged
    patient: Ragged
    path: Ragged
    labels: Ragged
    report: Ragged
    fold: Ints
    statements: Ragged
    is_negative: Bools
    fs: Doubles
    samples: Ints
    digest: Ragged
    outline: Ragged
    doubts: Ragged
    reason: Ragged
    windows: Ints

    def __len__(self) -> int:
        return len(self.fold)

    @cached_property
    def first_window(self) -> Ints:
        """(R,) first window of each recording, of those of all, one recording after the other."""
        return np.cumsum(self.windows) - self.windows

    def __getitem__(self, rows: slice) -> RecordingTable:
        """Return consecutive rows."""
        return RecordingTable(**{name: getattr(self, name)[rows] for name in BLANK})

    def row(self, number: int) -> Entry:
        """Return a row by its number."""
        return Entry(**{name: getattr(self, name)[number] for name in BLANK})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the columns by name, as a file holds them."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in BLANK:
            column = getattr(self, name)
            parts = vars(column) if isinstance(column, Ragged) else {"values": column}
            arrays |= {f"{name}.{part}": array for part, array in parts.items()}
        return arrays


def table_of(entries: Sequence[Entry]) -> RecordingTable:
    """Return the table of some recordings."""
    columns: dict[str, Any] = {}
    for name, blank in BLANK.items():
        cells = [getattr(entry, name) for entry in entries]
        if blank == "":
            columns[name] = text_column(cells)
        elif blank == ():
            columns[name] = number_column(cells)
        else:
            columns[name] = np.array(cells, type(blank))
    return RecordingTable(**columns)


def table_from(arrays: Mapping[str, NDArray[Any]]) -> RecordingTable:
    """Return the table of the arrays of a file (`RecordingTable.arrays`). Raises LookupError where one is missing."""
    columns: dict[str, Any] = {}
    for name in BLANK:
        values = arrays[f"{name}.values"]
        start = arrays.get(f"{name}.start")
        columns[name] = values if start is None else Ragged(values, start)
    return RecordingTable(**columns)
