"""Recordings of several datasets as one, whose windows stay where they were prepared: a corpus, or a transport.

A transport is a column such as `ptb-xl.rhythm@ludb`: it learns on the training and validation recordings of PTB-XL's
task `rhythm` and tests all recordings of LUDB that no encoder was pretrained on, on the classes that both have. Classes
are the same where `CONCEPTS` says so, or where two cards name them alike; of Chapman's four groups of rhythms, which
hold more than their names say, only sinus bradycardia.

    cache/KEY/index.safetensors    as of a prepared dataset, with folder and numbers of recordings of each dataset
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmark.data.column import Column, column_of
from benchmark.data.datasets.base import NO_FOLD, ClassIndices, DatasetError, DatasetInfo, Entry, rows_beside
from benchmark.data.prepare import NO_WINDOWS, Prepared
from benchmark.data.recordings import table_of
from benchmark.data.splits import TEST_FOLD, VALIDATION_FOLD
from benchmark.data.tasks import DatasetTask, tasks_of
from benchmark.results.arrays import Ints
from benchmark.results.files import digest
from benchmark.results.names import AT, DEFAULT_TASK

JOIN = "+"
"""Between the names of the datasets in that of a corpus: 'ptb-xl+chapman'."""
TRAINING_FOLD = 1
CONCEPTS = {row.pop("concept"): row for row in rows_beside(__file__, "concepts.csv")}
"""Concept -> dataset, or its task where classes of its tasks differ -> class, '' for none.

A card's class has the concept's name.
"""
Member = tuple[Prepared, Ints]
"""A dataset, and numbers of its recordings, ascending."""
Mark = tuple[ClassIndices, int]
"""Labels and fold of a recording."""


def join(
    name: str,
    members: Sequence[Member],
    cache: Path,
    *,
    title: str = "",
    classes: tuple[str, ...] = (),
    marks: Sequence[Mark] = (),
    chosen_by: object = None,
) -> Prepared:
    """Join some recordings of prepared datasets; nothing is written. Raises DatasetError for none.

    Recordings and patients are prefixed by their dataset's name, so that equal numbers stay apart. marks: of each
    recording where there are classes, one dataset after the other; else none has a label or a fold. chosen_by: what
    determines, beside the datasets, which recordings and marks these are, as values of JSON; None for all recordings.
    """
    title = title or " + ".join(data.title for data, _ in members)
    rows: list[Entry] = []
    for data, numbers in members:
        for number in numbers:
            row = data.recordings.row(number)
            labels, fold = marks[len(rows)] if marks else ((), NO_FOLD)
            prefix = f"{data.dataset_name}/"
            marked = replace(row, labels=labels, fold=fold, is_negative=False, path=prefix + row.path)
            rows.append(replace(marked, recording=prefix + row.recording, patient=prefix + row.patient))
    if not rows:
        raise DatasetError(f"{title}: all recordings belong to validation or test parts")
    sources = [[data.name, data.fingerprint] for data, _ in members]
    fingerprint = digest([name, classes, sources, chosen_by])
    segmentation = members[0][0].segmentation
    return Prepared(
        name=name,
        title=title,
        classes=classes,
        form=" + ".join(data.form for data, _ in members),
        simulated=any(data.simulated for data, _ in members),
        listed=table_of(rows),
        fingerprint=fingerprint,
        windows=NO_WINDOWS,
        folder=cache / digest([fingerprint, [data.folder.name for data, _ in members]]),
        segmentation=segmentation,
        members=tuple(members),
    )


@dataclass(frozen=True)
class Transport:
    """A transport before its recordings are known; a `benchmark.data.datasets.base.DatasetInfo`."""

    name: str
    title: str
    classes: tuple[str, ...]
    """The concepts that both ends have, in the order of the classes that are learned."""
    ends: tuple[DatasetTask, DatasetTask]
    """The columns that are learned and tested."""
    first_label_counts: bool = False
    how_to_get: str = ""


def is_transport(name: str) -> bool:
    """Tell whether a dataset's name is that of a transport."""
    return AT in name


def datasets_in(name: str) -> list[str]:
    """Name the datasets behind that of a column: itself, or those of both ends of a transport."""
    return [end.partition(".")[0] for end in name.split(AT)]


def transport_of(name: str, about: Callable[[str], DatasetInfo]) -> Transport:
    """Return the transport of a name. Raises ValueError for unknown ends, and for fewer than two common classes."""
    if len(set(datasets_in(name))) != 2 or name.count(AT) != 1:
        raise ValueError(f"{name}: a transport has one {AT} between columns of two datasets")
    ends, titles, concepts = [], [], []
    for word in name.split(AT):
        dataset, _, task = word.partition(".")
        if task and task not in tasks_of(dataset):
            raise ValueError(f"{name}: {dataset} has no task {task!r}: it has {', '.join(tasks_of(dataset))}")
        end = DatasetTask(dataset, task or DEFAULT_TASK)
        source = about(dataset)
        ends.append(end)
        titles.append(f"{source.title} {end.task}" if end.named else source.title)
        concepts.append([concept_of(end, label) for label in (end.named or source).classes])
    shared = tuple(concept for concept in concepts[0] if concept in concepts[1])
    if len(shared) < 2:
        raise ValueError(f"{name}: of two common classes {' and '.join(titles)} have {', '.join(shared) or 'none'}")
    return Transport(name, " → ".join(titles), shared, (ends[0], ends[1]))


def concept_of(column: DatasetTask, label: str) -> str:
    """Return the concept of a class of a column; in small letters its own name, where it is none's."""
    for concept, classes in CONCEPTS.items():
        if label in (classes.get(column.dataset), classes.get(column.name)):
            return concept
    return label.lower()


def transported(
    transport: Transport, learned: Column, tested: Prepared, cache: Path, *, seen: Collection[str], seen_by: object
) -> Prepared:
    """Join the recordings that are learned on and those that are tested.

    tested: the dataset under its task; its labels count as those that are learned. seen: its patients who are
    pretrained on, and not tested. seen_by: what determines them, as values of JSON; None for none. Raises DatasetError
    where either has no recording.
    """
    spec, split = learned.spec, learned.split
    learning = {int(r): TRAINING_FOLD for r in split.train} | {int(r): VALIDATION_FOLD for r in split.validation}
    patients = enumerate(tested.recordings.patient)
    testing = {r: TEST_FOLD for r, patient in patients if patient not in seen}
    members, marks, concepts_of_ends = [], [], []
    pairs = (learned, learning), (column_of(tested, spec), testing)
    for end, (column, folds) in zip(transport.ends, pairs, strict=True):
        concepts = [concept_of(end, label) for label in column.data.classes]
        concepts_of_ends.append(concepts)
        number_of = {name: number for number, name in enumerate(transport.classes)}
        chosen = []
        for r in sorted(folds):
            names = [concepts[label] for label in column.labels[r] or ()]
            if shared := tuple(sorted(number_of[name] for name in names if name in number_of)):
                chosen.append(r)
                marks.append((shared, folds[r]))
        if not chosen:
            raise DatasetError(f"{transport.title}: no recording of {column.data.title} has one of the common classes")
        members.append((column.data, np.array(chosen, np.int64)))
    return join(
        transport.name,
        members,
        cache,
        title=transport.title,
        classes=transport.classes,
        marks=marks,
        chosen_by=[concepts_of_ends, spec.dividing(), seen_by],
    )
