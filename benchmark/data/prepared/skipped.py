"""Recordings that could not be used: their reasons, counted by kind and written to skipped.csv."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.results.files.write import write_atomic
from benchmark.results.names import SKIPPED_COLUMNS
from benchmark.results.plain_text import csv_text


@dataclass(frozen=True)
class Skipped:
    """One recording that is in the dataset's tables and not in the prepared data."""

    recording: str
    patient: str
    """The recording's name if it was ruled out by the tables alone."""
    labels: tuple[int, ...]
    """Class indices it would have counted for, from which the coverage of classes is computed."""
    reason: str
    """Kind, colon, details of this recording."""
    statements: tuple[str, ...] = ()
    """As those of an entry."""


def skip_summary(skipped: Iterable[Skipped]) -> dict[str, int]:
    """Kind of reason (the part before the colon) -> recordings, the most frequent first."""
    return dict(Counter(skip.reason.partition(":")[0] for skip in skipped).most_common())


def write_skipped(skipped: Mapping[str, Sequence[Skipped]], path: Path) -> None:
    """Write one line per skipped recording of every dataset, given by name: dataset, recording, patient, reason."""
    rows = (
        (dataset, skip.recording, skip.patient, skip.reason)
        for dataset, recordings in skipped.items()
        for skip in recordings
    )
    write_atomic(path, csv_text(SKIPPED_COLUMNS, rows).encode())
