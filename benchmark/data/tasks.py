"""The named tasks of the datasets, and the columns of a table: each dataset under its tasks.

A named task is the same recordings under other labels. The class of a dataset states its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import Entry, NamedTask
from benchmark.data.prepare import Prepared, Skipped, made_at, open_prepared
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
    # Whether a recording is used may depend on the processor: labels are hashed whatever became of it.
    labels = {one.recording: one.labels for one in chain[Entry | Skipped](entries, skipped) if one.labels}
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


def open_task_view(folder: Path, column: DatasetTask) -> Prepared:
    """Open the prepared dataset in a folder under a task, as `open_prepared`. Raises FileNotFoundError."""
    return _task_view(folder, column, made_at(folder))


@lru_cache(maxsize=4)
def _task_view(folder: Path, column: DatasetTask, made_at: int) -> Prepared:
    return of_task(open_prepared(folder), column)
