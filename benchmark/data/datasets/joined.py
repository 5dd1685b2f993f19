"""Recordings of several datasets as one: a corpus to pretrain on, or a dataset to learn on and another to test on.

Recordings, patients and paths are prefixed by their dataset's name, so that equal numbers stay apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmark.data.datasets.base import Dataset, DatasetError, Entry, Listing, Recording

JOIN = "+"
"""Between the names of the datasets in that of the corpus: 'ptb-xl+chapman'."""


@dataclass
class Joined:
    """Recordings of several datasets; a `benchmark.data.datasets.base.Dataset`."""

    name: str
    title: str
    members: Mapping[str, Dataset]
    """By name, in order."""
    entries: Mapping[str, Sequence[Entry]]
    """Of each its recordings, with the labels and folds that they have here."""
    classes: tuple[str, ...] = ()
    root: Path = field(init=False)
    """The nearest folder that holds those of all datasets."""
    first_label_counts: bool = False
    how_to_get: str = ""

    def __post_init__(self) -> None:
        self.root = Path(os.path.commonpath([member.root.resolve() for member in self.members.values()]))

    def listing(self) -> Listing:
        """The recordings of each dataset in turn. Raises DatasetError where there are none."""
        listings = {name: member.listing() for name, member in self.members.items()}
        entries = tuple(self._prefixed(name, entry) for name in self.members for entry in self.entries[name])
        if not entries:
            raise DatasetError(f"{self.title}: no recording is left: every one is tested or chosen on")
        return Listing(
            entries,
            form=" + ".join(own.form for own in listings.values()),
            reading="/".join(own.reading for own in listings.values()),
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Files of an entry, as of its dataset."""
        member, own = self._own(entry)
        return member.files(own)

    def read(self, entry: Entry) -> Recording:
        """The signal, as its dataset reads it. Raises Unusable."""
        member, own = self._own(entry)
        return member.read(own)

    def _prefixed(self, name: str, entry: Entry) -> Entry:
        recording, patient = f"{name}/{entry.recording}", f"{name}/{entry.patient}"
        return replace(entry, recording=recording, patient=patient, path=f"{name}/{entry.path}")

    def _own(self, entry: Entry) -> tuple[Dataset, Entry]:
        """The dataset of an entry, and the entry as that knows it."""
        name, _, path = entry.path.partition("/")
        recording = entry.recording.removeprefix(f"{name}/")
        patient = entry.patient.removeprefix(f"{name}/")
        return self.members[name], replace(entry, recording=recording, patient=patient, path=path)
