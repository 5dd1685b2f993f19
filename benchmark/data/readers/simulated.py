"""What tells simulated recordings from real ones: a mark in the dataset's folder, and a note in every WFDB header."""

from __future__ import annotations

from collections.abc import Iterable

from benchmark.data.readers.base import Dataset, Entry

SIMULATED_MARK = "SIMULATED.json"
"""File in the root of a dataset that was simulated."""
SIMULATED_NOTE = "Simulated: the recording of no patient"
"""Comment in the header of a simulated recording; no reader takes a number from it."""


def is_marked(dataset: Dataset) -> bool:
    """Whether a dataset's folder has the simulator's mark."""
    return (dataset.root / SIMULATED_MARK).is_file()


def is_simulated(dataset: Dataset, entries: Iterable[Entry]) -> bool:
    """Whether a dataset's folder has the simulator's mark or the header of one of the entries its note."""
    return is_marked(dataset) or any(_noted(dataset, entry) for entry in entries)


def _noted(dataset: Dataset, entry: Entry) -> bool:
    headers = [path for path in dataset.files(entry) if path.suffix == ".hea" and path.is_file()]
    return any(f"#{SIMULATED_NOTE}".encode() in path.read_bytes().splitlines() for path in headers)
