"""A prepared dataset under a named task: the same windows with other labels, prepared once for all tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmark.data.prepared.load import Prepared, opened
from benchmark.data.tasks.columns import Column
from benchmark.results.keys import digest


def of_task(prepared: Prepared, column: Column) -> Prepared:
    """A prepared dataset under a task: the same windows with the task's labels and a fingerprint of both."""
    task = column.named
    if task is None:
        return prepared
    entries = tuple(replace(entry, labels=task.labels(entry)) for entry in prepared.entries)
    skipped = tuple(replace(skip, labels=task.labels(skip)) for skip in prepared.skipped)
    labels = [[one.labels for one in listed] for listed in (entries, skipped)]
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
        prepared_as=prepared.fingerprint,
    )


@lru_cache(maxsize=4)
def opened_for(folder: Path, column: Column) -> Prepared:
    """The prepared dataset in a folder under a task, opened once per process. Raises FileNotFoundError."""
    return of_task(opened(folder), column)
