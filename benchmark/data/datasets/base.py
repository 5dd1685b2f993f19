"""The contract of a dataset: a table of entries, and a reader of one entry's signal.

A reader lists its entries from the dataset's own tables without opening a signal, so that listing is cheap and the
signals can be read by many processes. Reading one entry returns a `Recording`, in mV with the leads in one order, or
raises `Unusable` with the reason, which is written to `skipped.csv`; it never changes a label.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

from benchmark.results.arrays import Floats
from benchmark.results.names import LEADS as LEADS


class Unusable(Exception):
    """One recording cannot be used. The message is the reason: kind, colon, details of this recording.

    Kinds are counted in tables ('heart rate below 50/min'), so they hold no number and no path that varies.
    """


class DatasetError(Exception):
    """A dataset as a whole cannot be used: the message says what was looked for, where, and how to get it."""


LIMB_SHARES = {"III": (-1.0, 1.0), "aVR": (-0.5, -0.5), "aVL": (1.0, -0.5), "aVF": (-0.5, 1.0)}
"""Limb lead -> its shares of I and II, by the laws of Einthoven (1913) and Goldberger (1942)."""
SplitBy = Literal["protocol", "shuffled"]
"""Rule by which recordings without official folds are split."""
ClassIndices: TypeAlias = tuple[int, ...]
"""Indices into a dataset's classes, of a recording in the order in which the dataset states them."""
Key = TypeVar("Key")
Value = TypeVar("Value")
EXAMPLES = 3
"""Most names listed as examples."""
ALWAYS_TESTED = 0
"""Fold of a simulated recording that is tested however the others are split."""
NO_FOLD = -1
"""Fold of a recording whose dataset states none."""


def rows_beside(module: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV table beside a module, which is given by its `__file__`."""
    with open(Path(module).with_name(name), newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Collect the values of each key, in the order in which they come."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def some(names: Sequence[str]) -> str:
    """List the first `EXAMPLES` names, and how many more there are."""
    more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
    return ", ".join(names[:EXAMPLES]) + more


@dataclass(frozen=True)
class Entry:
    """A row of the table of recordings: what the dataset's tables say of one, then what its signal says."""

    recording: str
    """Identifier, unique within the dataset."""
    patient: str
    """Identifier of the person, unique within the dataset; the recording's own where the dataset names none."""
    path: str = ""
    """Signal file relative to the dataset's root, as its reader wants it (without extension for WFDB)."""
    labels: ClassIndices = ()
    """Empty in a pretraining corpus."""
    report: str = ""
    """Report lines joined by '. ', empty where there is none."""
    fold: int = NO_FOLD
    """Official fold, `ALWAYS_TESTED` or `NO_FOLD`."""
    statements: str = ""
    """Codes that the dataset states of it, one a line; what named tasks are made of (benchmark.data.tasks)."""
    is_negative: bool = False
    """The dataset says no to each class; another recording without a label was not assessed."""
    fs: float = 0.0
    """Sampling rate in Hz; 0 of a file that could not be read."""
    samples: int = 0
    """Samples of a lead."""
    digest: str = ""
    """Hash of the samples in whole microvolts: equal for copies, whatever their names and on-disk forms."""
    outline: tuple[int, ...] = ()
    """Outline of the signal (`signals.outline_of`)."""
    doubts: str = ""
    """Doubts about the signal and its file, one a line: kind, colon, details."""
    reason: str = ""
    """Why the recording is left out: kind, colon, details; '' for a usable one."""
    windows: int = 0
    """Number of its windows; of a recording kept whole, of its samples."""


@dataclass(frozen=True)
class NamedTask:
    """A multi-label task of a dataset."""

    about: str
    """Words on its classes."""
    classes: tuple[str, ...]
    of_code: Mapping[str, str] | None
    """Code -> class; None: the dataset's labels are the task's."""
    sides: SplitBy = "protocol"

    def labels(self, stated: ClassIndices, statements: str) -> ClassIndices:
        """Return indices into `classes`, ascending, by a recording's labels and codes; none where the task has none."""
        if self.of_code is None:
            return tuple(sorted(stated))
        return tuple(sorted(map(self.classes.index, labels_of(statements.splitlines(), self.of_code))))


def labels_of(codes: Iterable[str], of_code: Mapping[str, str]) -> tuple[str, ...]:
    """Return the classes that a recording's codes stand for, sorted; codes of no class are left out."""
    return tuple(sorted({of_code[code] for code in codes if code in of_code}))


@dataclass(frozen=True)
class Recording:
    """One 12-lead ECG."""

    signal: Floats
    """(n, 12) in mV, leads in the order of `LEADS`."""
    fs: float
    """Sampling rate in Hz."""
    report: str = ""
    """Report of a simulated recording, which is made with its signal and replaces that of its entry."""
    doubts: tuple[str, ...] = ()
    """Oddities of its file that could be read in one way only: kind, colon, details."""


@dataclass(frozen=True)
class Listing:
    """The recordings of a folder, and those that its tables already rule out."""

    entries: tuple[Entry, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """(recording, reason) of those that the tables alone show to be unusable."""
    form: str = ""
    """The on-disk form that was recognised and read, e.g. 'records500', or 'simulated'."""
    warnings: tuple[str, ...] = ()
    """Oddities of the tables that could be read in one way only; one sentence each, without full stop."""
    notes: tuple[str, ...] = ()
    """Remarks on the folder and its tables that are no fault; likewise."""
    reading: str = ""
    """Hash of settings that determine what is read and are in none of the dataset's files: of a card."""


class DatasetInfo(Protocol):
    """Facts of a dataset for tables and tasks, with or without its folder."""

    name: str
    """Name in flags, configs and rows."""
    title: str
    """As printed in a table, e.g. 'PTB-XL'."""
    how_to_get: str
    """One line: source of the real data."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty for a pretraining corpus without labels."""

    @property
    def first_label_counts(self) -> bool:
        """Single-label rule of the paper: True = the first label stands for the recording, False = only one or skip."""


class DatasetKind(DatasetInfo, Protocol):
    """A dataset before its folder is known: a reader's class, or a card (benchmark.data.datasets)."""

    licence: str
    """Licence of the real data, as its publisher states it; '' where none is stated."""

    @property
    def tasks(self) -> Mapping[str, NamedTask]:
        """Named tasks: the same recordings under other labels."""

    @property
    def cite(self) -> str:
        """Publication to be cited, as its publisher asks; '' for a card."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root, e.g. as unpacked or mirrored from the publisher; first found wins."""

    def __call__(self, root: Path) -> Dataset:
        """Open the dataset in a folder; nothing is read yet."""


class Dataset(DatasetInfo, Protocol):
    """A dataset on disk, or a simulated one. `DATASETS` lists the built-in ones, each in a file of this folder."""

    root: Path

    @property
    def drawn_from(self) -> str:
        """Digest of all that the recordings of a simulated dataset depend on; '' for one on disk."""

    def listing(self) -> Listing:
        """List the entries of the folder, in the dataset's own order. Raises DatasetError if it is not this dataset."""

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """List an entry's files, existing or not, none of a simulated one; a change makes a cache stale."""

    def read(self, entry: Entry) -> Recording:
        """Read the signal of one entry in mV. Raises Unusable with the reason if it cannot be used."""
