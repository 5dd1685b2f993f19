"""Transport: what is learned on one dataset is tested on another, on the classes that both have.

The column `ptb-xl.rhythm@ludb` learns on the training and validation recordings of PTB-XL's task `rhythm` and tests all
recordings of LUDB that no encoder was pretrained on: a joined dataset with folds. Classes are the same where `CONCEPTS`
says so, or where two cards name them alike; of Chapman's four groups of rhythms, which hold more than their names say,
only sinus bradycardia.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.data.datasets.base import DatasetError, DatasetInfo
from benchmark.data.joined import join
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TEST_FOLD, VALIDATION_FOLD, Split, TaskSpec, task_labels
from benchmark.data.tasks import DatasetTask, tasks_of
from benchmark.results.names import AT, DEFAULT_TASK

TRAINING_FOLD = 1
with open(Path(__file__).with_name("concepts.csv"), encoding="ascii", newline="") as _file:
    CONCEPTS = {row.pop("concept"): {key: name for key, name in row.items() if name} for row in csv.DictReader(_file)}
"""Concept -> dataset, or its task where classes of its tasks differ -> class. A card's class has the concept's name."""


@dataclass(frozen=True)
class Transport:
    """A transport before its recordings are known; a `benchmark.data.datasets.base.DatasetInfo`."""

    name: str
    title: str
    classes: tuple[str, ...]
    """The concepts that both ends have, in the order of the classes that are learned."""
    learned: DatasetTask
    tested: DatasetTask
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
        end, source = DatasetTask(dataset, task or DEFAULT_TASK), about(dataset)
        ends.append(end)
        titles.append(source.title if end.named is None else f"{source.title} {end.task}")
        classes = end.named.classes if end.named else source.classes
        concepts.append([concept_of(end, label) for label in classes])
    shared = tuple(concept for concept in concepts[0] if concept in concepts[1])
    if len(shared) < 2:
        raise ValueError(f"{name}: of two common classes {' and '.join(titles)} have {', '.join(shared) or 'none'}")
    return Transport(name, " → ".join(titles), shared, learned=ends[0], tested=ends[1])


def concept_of(column: DatasetTask, label: str) -> str:
    """Return the concept of a class of a column; in small letters its own name, where it is none's."""
    for concept, classes in CONCEPTS.items():
        if label in (classes.get(column.dataset), classes.get(column.name)):
            return concept
    return label.lower()


def transported(
    transport: Transport, learned: Prepared, tested: Prepared, split: Split, spec: TaskSpec, seen: set[str], cache: Path
) -> Prepared:
    """Join the recordings that are learned on and those that are tested.

    learned, tested: the datasets under their tasks. split: of the first. spec: of a recording's labels. seen: patients
    of the second who are pretrained on, and not tested. Raises DatasetError where either has no recording.
    """
    unseen = [r for r, entry in enumerate(tested.entries) if entry.patient not in seen]
    folds = (
        dict.fromkeys(split.train.tolist(), TRAINING_FOLD) | dict.fromkeys(split.validation.tolist(), VALIDATION_FOLD),
        dict.fromkeys(unseen, TEST_FOLD),
    )
    members, marks = [], []
    for data, column, fold_of in zip((learned, tested), (transport.learned, transport.tested), folds, strict=True):
        concepts = [concept_of(column, label) for label in data.classes]
        number = {n: transport.classes.index(name) for n, name in enumerate(concepts) if name in transport.classes}
        chosen = []
        for r in sorted(fold_of):
            labels = task_labels(data.entries[r].labels, spec, first_label_counts=data.first_label_counts)
            if shared := tuple(sorted(number[label] for label in labels if label in number)):
                chosen.append(r)
                marks.append((shared, fold_of[r]))
        if not chosen:
            raise DatasetError(f"{transport.title}: no recording of {data.title} has one of the common classes")
        members.append((data, np.array(chosen, np.int64)))
    return join(transport.name, members, cache, title=transport.title, classes=transport.classes, marks=marks)
