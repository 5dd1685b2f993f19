"""What tells simulated recordings from real ones: a mark in the dataset's folder, and a note in every WFDB header."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from benchmark.data.readers.base import Dataset, Entry, Unusable
from benchmark.data.readers.files.wfdb_record import header_text

SIMULATED_MARK = "SIMULATED.json"
"""File in the root of a dataset that was simulated."""
SIMULATED_NOTE = "Simulated: the recording of no patient"
"""Comment in the header of a simulated recording; no reader takes a number from it."""


def is_marked(dataset: Dataset) -> bool:
    """Whether a dataset's folder has the simulator's mark."""
    return (dataset.root / SIMULATED_MARK).is_file()


def is_simulated(dataset: Dataset, entries: Iterable[Entry]) -> bool:
    """Whether a dataset's folder has the simulator's mark or the header of one of the entries its note.

    A header that no recording is read from, e.g. one that is too large, is passed over.
    """
    return is_marked(dataset) or any(_noted(dataset, entry) for entry in entries)


def _noted(dataset: Dataset, entry: Entry) -> bool:
    for header in (path for path in dataset.files(entry) if path.suffix == ".hea"):
        with suppress(Unusable):
            if f"#{SIMULATED_NOTE}" in header_text(header).splitlines():
                return True
    return False
