"""Transport: what is learned on one dataset is tested on another, on the classes that both have.

The column `ptb-xl.rhythm@ludb` has the training and validation recordings of PTB-XL's task `rhythm` and tests all
recordings of LUDB that no encoder was pretrained on. It is made as a dataset of its own, with folds, so that cells,
tests and pages are those of every other column.

Classes are the same where `CONCEPTS` says so, or where two cards name them alike. Of Chapman's four groups of rhythms
only sinus bradycardia is one: the others hold more than their names say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from benchmark.data.datasets.base import About, Dataset, DatasetError, Entry, Listing, Recording
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TASKS, TEST_FOLD, VALIDATION_FOLD, DatasetTask, Split, TaskSpec, task_labels
from benchmark.results.names import AT, DEFAULT_TASK
from benchmark.results.schema import digest

TRAINING_FOLD = 1
CONCEPTS: dict[str, dict[str, str]] = {
    "sinus rhythm": {"ptb-xl": "SR", "chapman.all": "SR", "ningbo.all": "SR"},
    "sinus bradycardia": {"ptb-xl": "SBRAD", "chapman": "SB", "ningbo": "SB"},
    "sinus tachycardia": {"ptb-xl": "STACH", "chapman.all": "ST", "ningbo.all": "ST"},
    "sinus arrhythmia": {"ptb-xl": "SARRH", "chapman.all": "SA", "ningbo.all": "SA"},
    "atrial fibrillation": {"ptb-xl": "AFIB", "chapman.all": "AFIB", "ningbo.all": "AFIB", "cpsc2018": "AF"},
    "atrial flutter": {"ptb-xl": "AFLT", "chapman.all": "AF", "ningbo.all": "AF"},
    "first degree AV block": {"ptb-xl": "1AVB", "chapman.all": "1AVB", "ningbo.all": "1AVB", "cpsc2018": "I-AVB"},
    "right bundle branch block": {"ptb-xl": "CRBBB", "chapman.all": "RBBB", "ningbo.all": "RBBB", "cpsc2018": "RBBB"},
    "left bundle branch block": {"ptb-xl": "CLBBB", "chapman.all": "LBBB", "ningbo.all": "LBBB", "cpsc2018": "LBBB"},
    "atrial premature complex": {"ptb-xl": "PAC", "chapman.all": "APB", "ningbo.all": "APB", "cpsc2018": "PAC"},
    "ventricular premature complex": {"ptb-xl": "PVC", "chapman.all": "VPB", "ningbo.all": "VPB", "cpsc2018": "PVC"},
    "ST depression": {"ptb-xl": "STD_", "cpsc2018": "STD"},
    "ST elevation": {"ptb-xl": "STE_", "cpsc2018": "STE"},
}
"""Concept -> dataset, or its task where classes of its tasks differ -> class. A card's class has the concept's name."""


class Ends(NamedTuple):
    """The columns of a transport."""

    learned: DatasetTask
    tested: DatasetTask


def is_transport(name: str) -> bool:
    """Whether a dataset's name is that of a transport."""
    return AT in name


def ends_of(name: str) -> Ends:
    """The columns of a transport's name. Raises ValueError for an unknown task or one dataset at both ends."""
    words = [word.partition(".") for word in name.split(AT)]
    if len(words) != 2:
        raise ValueError(f"{name}: two columns were expected, one on each side of a single {AT}")
    ends = Ends(*(DatasetTask(dataset, task or DEFAULT_TASK) for dataset, _, task in words))
    for end in ends:
        known = [DEFAULT_TASK, *TASKS.get(end.dataset, {})]
        if end.task not in known:
            raise ValueError(f"{name}: {end.dataset} has no task {end.task!r}: it has {', '.join(known)}")
    if ends.learned.dataset == ends.tested.dataset:
        raise ValueError(f"{name}: both ends are {ends.tested.dataset}; name two datasets")
    return ends


def with_transports(datasets: Sequence[str], learned: Sequence[str], tested: Sequence[str]) -> list[str]:
    """The datasets, then a transport from each of those that are learned on to each that is tested, of two datasets.

    Raises ValueError where only one end is named, or one dataset stands at both ends of all.
    """
    if not learned or not tested:
        missing = "test_on" if learned else "train_on"
        raise ValueError(f"{missing} is empty: a transport has two ends, train_on and test_on")
    pairs = [f"{one}{AT}{other}" for one in learned for other in tested]
    pairs = [name for name in pairs if len({end.partition(".")[0] for end in name.split(AT)}) == 2]
    if not pairs:
        raise ValueError(f"train_on and test_on both name {learned[0]} alone; name another dataset at one end")
    return list(dict.fromkeys([*datasets, *pairs]))


def datasets_in(name: str) -> list[str]:
    """The datasets behind the name of a column's dataset: itself, or those of both ends of a transport."""
    return [end.dataset for end in ends_of(name)] if is_transport(name) else [name]


def concept_of(column: DatasetTask, label: str) -> str:
    """The concept of a class of a column; in small letters its own name, where it is none's."""
    for concept, classes in CONCEPTS.items():
        for place in (column.dataset, column.name):
            if classes.get(place) == label:
                return concept
    return label.lower()


@dataclass(frozen=True)
class Transport:
    """The dataset of a transport, before its recordings are known; a `benchmark.data.datasets.base.About`."""

    name: str
    title: str
    classes: tuple[str, ...]
    """The concepts that both ends have, in the order of the classes that are learned."""
    first_label_counts: bool = False
    how_to_get: str = ""


def transport_of(name: str, about: Callable[[str], About]) -> Transport:
    """The transport of a name. Raises ValueError for unknown ends and for fewer than two classes that both have."""
    ends = ends_of(name)
    titles, concepts = [], []
    for end in ends:
        source = about(end.dataset)
        classes = end.named.classes if end.named else source.classes
        titles.append(source.title if end.named is None else f"{source.title} {end.task}")
        concepts.append([concept_of(end, label) for label in classes])
    shared = tuple(concept for concept in concepts[0] if concept in concepts[1])
    if len(shared) < 2:
        which = f"one class, {shared[0]}" if shared else "no class"
        raise ValueError(f"{name}: {titles[0]} and {titles[1]} share {which}; two are needed to be told apart")
    return Transport(name, " → ".join(titles), shared)


class End(NamedTuple):
    """One end of a transport, with its data under its task."""

    column: DatasetTask
    dataset: Dataset
    data: Prepared


@dataclass
class Joined:
    """Recordings of two datasets, one to learn on and one to test on; a `benchmark.data.datasets.base.Dataset`.

    Recordings, patients and paths are prefixed by their dataset's name, so that equal numbers stay apart.
    """

    name: str
    title: str
    members: Mapping[str, Dataset]
    """By name, in order."""
    entries: Mapping[str, Sequence[Entry]]
    """Of each its recordings, with the labels and folds that they have here."""
    classes: tuple[str, ...]
    root: Path = field(init=False)
    """The nearest folder that holds those of all datasets."""
    first_label_counts: bool = False
    how_to_get: str = ""

    def __post_init__(self) -> None:
        self.root = Path(os.path.commonpath([member.root.resolve() for member in self.members.values()]))

    @property
    def drawn_from(self) -> str:
        """Digest of its datasets and recordings where these are simulated."""
        members = [member.drawn_from for member in self.members.values()]
        if not all(members):
            return ""
        return digest([members, [[asdict(entry) for entry in entries] for entries in self.entries.values()]])

    def listing(self) -> Listing:
        """The recordings of each dataset in turn."""
        listings = {name: member.listing() for name, member in self.members.items()}
        entries = tuple(self._prefixed(name, entry) for name in self.members for entry in self.entries[name])
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


def transported(
    transport: Transport, learned: End, tested: End, split: Split, spec: TaskSpec, seen: set[str]
) -> Joined:
    """The dataset of a transport.

    split: of the data that are learned on. spec: of a recording's labels. seen: patients of the tested dataset who are
    pretrained on, and not tested. Raises DatasetError where a side is empty.
    """
    fold_of = {int(r): TRAINING_FOLD for r in split.train} | {int(r): VALIDATION_FOLD for r in split.validation}
    own = _labelled(learned, transport, {learned.data.entries[r].recording: fold for r, fold in fold_of.items()}, spec)
    others = {entry.recording: TEST_FOLD for entry in tested.data.entries if entry.patient not in seen}
    found = _labelled(tested, transport, others, spec)
    for there, what in ((own, f"to learn on in {learned.data.title}"), (found, f"to test in {tested.data.title}")):
        if not there:
            raise DatasetError(f"{transport.title}: no recording {what} has one of {', '.join(transport.classes)}")
    members = {learned.column.dataset: learned.dataset, tested.column.dataset: tested.dataset}
    entries = {learned.column.dataset: own, tested.column.dataset: found}
    return Joined(transport.name, transport.title, members, entries, transport.classes)


def _labelled(end: End, transport: Transport, folds: Mapping[str, int], spec: TaskSpec) -> Sequence[Entry]:
    """The recordings that have a fold, with it and their labels among the transport's classes; none without a label."""
    concepts = [concept_of(end.column, label) for label in end.data.classes]
    number = {place: transport.classes.index(own) for place, own in enumerate(concepts) if own in transport.classes}
    counted = end.data.first_label_counts
    entries = []
    for entry in end.data.entries:
        stated = task_labels(entry.labels, spec, first_label_counts=counted)
        labels = tuple(sorted(number[label] for label in stated if label in number))
        if labels and entry.recording in folds:
            entries.append(replace(entry, labels=labels, statements=(), fold=folds[entry.recording]))
    return entries
