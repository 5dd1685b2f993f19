"""The named tasks of the datasets: the same windows and recordings under other labels.

PTB-XL's six tasks (Strodthoff et al. 2021, JBHI 25:1519), and those of Chapman, Ningbo and CPSC2018 by MERL (Liu et al.
2024, ICML).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from benchmark.data.datasets.base import Entry
from benchmark.data.datasets.chapman import CLASSES as CONDITIONS
from benchmark.data.datasets.chapman import CONDITION_OF_STATEMENT
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.ptb_xl import PTB_XL_TASKS, class_of_code, labels_of
from benchmark.data.prepare import Prepared, Skipped, open_prepared
from benchmark.data.splits import SplitBy
from benchmark.results.files import digest
from benchmark.results.names import AT, DEFAULT_TASK


@dataclass(frozen=True)
class NamedTask:
    """A multi-label task of a dataset."""

    what: str
    """What its classes are."""
    classes: tuple[str, ...]
    of_code: Mapping[str, str] | None
    """Code -> class; None: the dataset's labels are the task's."""
    sides: SplitBy = "protocol"

    def labels(self, recording: Entry | Skipped) -> tuple[int, ...]:
        """Return indices into `classes` of a recording's labels, ascending; none where it has none of the task."""
        if self.of_code is None:
            return tuple(sorted(recording.labels))
        return tuple(sorted(self.classes.index(name) for name in labels_of(recording.statements, self.of_code)))


_CONDITIONS = NamedTask("rhythms and conditions, MERL's 38", CONDITIONS, CONDITION_OF_STATEMENT, "shuffled")
TASKS: dict[str, dict[str, NamedTask]] = {
    "ptb-xl": {
        task: NamedTask(what, tuple(sorted(set(class_of_code(task).values()))), class_of_code(task))
        for task, what in PTB_XL_TASKS.items()
    },
    "chapman": {"all": _CONDITIONS},
    "ningbo": {"all": _CONDITIONS},
    "cpsc2018": {"all": NamedTask("all labels of a recording", CPSC2018.classes, None, "shuffled")},
}
"""Dataset -> its named tasks."""


@dataclass(frozen=True)
class DatasetTask:
    """A dataset under a task."""

    dataset: str
    task: str = DEFAULT_TASK

    @property
    def name(self) -> str:
        """In cells, rows and files: 'ptb-xl', 'ptb-xl.rhythm'."""
        return self.dataset if self.named is None else f"{self.dataset}.{self.task}"

    @property
    def named(self) -> NamedTask | None:
        """Its named task; None for `default`."""
        return TASKS.get(self.dataset, {}).get(self.task)


def tasks_of(dataset: str) -> tuple[str, ...]:
    """Return the tasks that a dataset has, `default` first."""
    return (DEFAULT_TASK, *TASKS.get(dataset, {}))


def columns_of(datasets: Sequence[str], tasks: Iterable[str]) -> tuple[DatasetTask, ...]:
    """Return each dataset under those of the tasks that it has; then the transports, which have one task.

    Raises ValueError for a task that none of the datasets has, and for a dataset that has none of the tasks.
    """
    plain, requested = [name for name in datasets if AT not in name], tuple(tasks)
    columns = [DatasetTask(name, task) for name in plain for task in requested if task in tasks_of(name)]
    unused = {*plain, *(requested if plain else ())} - {name for c in columns for name in (c.dataset, c.task)}
    if unused:
        possible = "; ".join(f"{name} has {', '.join(tasks_of(name))}" for name in plain)
        raise ValueError(f"no dataset has the task, or no task fits the dataset, {sorted(unused)}: {possible}")
    return (*columns, *(DatasetTask(name) for name in datasets if AT in name))


def of_task(prepared: Prepared, column: DatasetTask) -> Prepared:
    """Return a prepared dataset under a task: the same windows with the task's labels and a fingerprint of both."""
    task = column.named
    if task is None:
        return prepared
    entries = tuple(replace(entry, labels=task.labels(entry)) for entry in prepared.entries)
    skipped = tuple(replace(skip, labels=task.labels(skip)) for skip in prepared.skipped)
    labels = [[recording.labels for recording in recordings] for recordings in (entries, skipped)]
    return replace(
        prepared,
        name=column.name,
        title=f"{prepared.title} {column.task}",
        classes=task.classes,
        entries=entries,
        skipped=skipped,
        fingerprint=digest([prepared.fingerprint, column.task, task.classes, labels]),
        first_label_counts=False,
        dataset=prepared.name,
    )


@lru_cache(maxsize=4)
def open_task_view(folder: Path, column: DatasetTask) -> Prepared:
    """Open the prepared dataset in a folder under a task, once per process. Raises FileNotFoundError."""
    return of_task(open_prepared(folder), column)
