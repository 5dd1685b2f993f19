"""Columns of the table: a dataset under one of its tasks.

Every dataset has the task `default`, its own classes under `data.labels`; a named task has classes of its own, several
of which a recording may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.data.prepared.skipped import Skipped
from benchmark.data.readers.base import Entry
from benchmark.data.readers.cpsc2018 import CPSC2018
from benchmark.data.tasks.chapman_tasks import CLASSES as CONDITIONS
from benchmark.data.tasks.chapman_tasks import CONDITION_OF_STATEMENT
from benchmark.data.tasks.ptb_xl_tasks import PTB_XL_TASKS, class_of_code, labels_of
from benchmark.data.tasks.spec import Sides
from benchmark.results.names import DEFAULT_TASK


@dataclass(frozen=True)
class NamedTask:
    """A multi-label task of a dataset."""

    what: str
    """What its classes are."""
    classes: tuple[str, ...]
    of_code: Mapping[str, str] | None
    """Code -> class; None: the dataset's own labels are the task's."""
    sides: Sides = "protocol"

    def labels(self, one: Entry | Skipped) -> tuple[int, ...]:
        """Indices into `classes` of a recording's labels, ascending; empty where it has none of the task."""
        if self.of_code is None:
            return tuple(sorted(one.labels))
        return tuple(sorted(self.classes.index(name) for name in labels_of(one.statements, self.of_code)))


def _of_ptb_xl(task: str, what: str) -> NamedTask:
    of_code = class_of_code(task)
    return NamedTask(what, tuple(sorted(set(of_code.values()))), of_code)


_CONDITIONS = NamedTask("rhythms and conditions, MERL's 38", CONDITIONS, CONDITION_OF_STATEMENT, "shuffled")
TASKS: dict[str, dict[str, NamedTask]] = {
    "ptb-xl": {task: _of_ptb_xl(task, what) for task, what in PTB_XL_TASKS.items()},
    "chapman": {"all": _CONDITIONS},
    "ningbo": {"all": _CONDITIONS},
    "cpsc2018": {"all": NamedTask("all labels of a recording", CPSC2018.classes, None, "shuffled")},
}
"""Dataset -> its named tasks."""


@dataclass(frozen=True)
class Column:
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
    """The tasks that a dataset has, `default` first."""
    return (DEFAULT_TASK, *TASKS.get(dataset, {}))


def columns_of(datasets: Sequence[str], tasks: Iterable[str]) -> tuple[Column, ...]:
    """Each dataset under those of the tasks that it has.

    Raises ValueError for a task that none of the datasets has, and for a dataset that has none of the tasks.
    """
    asked = tuple(tasks)
    possible = "; ".join(f"{name} has {', '.join(tasks_of(name))}" for name in datasets)
    for task in asked:
        if not any(task in tasks_of(name) for name in datasets):
            raise ValueError(f"no dataset of the table has the task {task!r}: {possible}")
    for name in datasets:
        if not any(task in tasks_of(name) for task in asked):
            raise ValueError(f"{name} has none of the tasks {', '.join(asked)}: it has {', '.join(tasks_of(name))}")
    return tuple(Column(name, task) for name in datasets for task in asked if task in tasks_of(name))
