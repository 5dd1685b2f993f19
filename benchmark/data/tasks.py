"""The named tasks of the datasets, and the columns of a table: each dataset under its tasks.

A named task is the same recordings under other labels. The class of a dataset states its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import NamedTask
from benchmark.data.prepare import Prepared
from benchmark.data.recordings import number_column
from benchmark.results.files import digest
from benchmark.results.names import AT, DEFAULT_TASK


@dataclass(frozen=True)
class DatasetTask:
    """A dataset under a task."""

    dataset: str
    task: str = DEFAULT_TASK

    @property
    def name(self) -> str:
        """Name in cells, rows and files: 'ptb-xl', 'ptb-xl.rhythm'."""
        return self.dataset if self.named is None else f"{self.dataset}.{self.task}"

    @property
    def named(self) -> NamedTask | None:
        """Its named task; None for `default`."""
        return named_tasks(self.dataset).get(self.task)


def named_tasks(dataset: str) -> Mapping[str, NamedTask]:
    """Return the named tasks of a built-in dataset; none of another one."""
    return DATASETS[dataset].tasks if dataset in DATASETS else {}


def tasks_of(dataset: str) -> tuple[str, ...]:
    """Return the tasks that a dataset has, `default` first."""
    return (DEFAULT_TASK, *named_tasks(dataset))


@lru_cache(maxsize=32)
def columns_of(datasets: tuple[str, ...], tasks: tuple[str, ...]) -> tuple[DatasetTask, ...]:
    """Return each dataset under those of the tasks that it has; then the transports, which have one task.

    Raises ValueError for a task that none of the datasets has, and for a dataset that has none of the tasks.
    """
    plain = [name for name in datasets if AT not in name]
    columns = [DatasetTask(name, task) for name in plain for task in tasks if task in tasks_of(name)]
    unused = {*plain, *(tasks if plain else ())} - {name for c in columns for name in (c.dataset, c.task)}
    if unused:
        possible = "; ".join(f"{name} has {', '.join(tasks_of(name))}" for name in plain)
        raise ValueError(f"no dataset has the task, or no task fits the dataset, {sorted(unused)}: {possible}")
    return (*columns, *(DatasetTask(name) for name in datasets if AT in name))


@lru_cache(maxsize=32)
def of_task(prepared: Prepared, column: DatasetTask) -> Prepared:
    """Return a prepared dataset under a task: the same windows with the task's labels and a fingerprint of both.

    It is the same object for the same data and task.
    """
    task = column.named
    if task is None:
        return prepared
    listed = prepared.listed
    stated = zip(listed.labels, listed.statements, strict=True)
    labels = [task.labels(numbers, statements) for numbers, statements in stated]
    # Whether a recording is used may depend on the processor: labels are hashed whatever became of it.
    by_name = {name: numbers for name, numbers in zip(listed.recording, labels, strict=True) if numbers}
    return replace(
        prepared,
        name=column.name,
        title=f"{prepared.title} {column.task}",
        classes=task.classes,
        listed=replace(listed, labels=number_column(labels)),
        fingerprint=digest([prepared.fingerprint, column.task, task.classes, by_name]),
        first_label_counts=False,
        dataset=prepared.name,
    )
