"""Group tasks into jobs: each pretraining alone, cells of one encoder together, of about equal expected seconds."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

from benchmark.run.engines.engine import Task, Work

LIMIT_SHARE = 0.5
"""Of the time limit of a job that its tasks are expected to take."""


@dataclass(frozen=True)
class Batch(Generic[Work]):
    """The tasks of a job, which runs them one by one."""

    tasks: tuple[Task[Work], ...]

    @property
    def after(self) -> str:
        """Key of the task that all of them wait for; '' for none."""
        return self.tasks[0].after

    @property
    def whole(self) -> bool:
        """Whether it is a pretraining."""
        return self.tasks[0].whole

    @property
    def keys(self) -> list[str]:
        """Keys of all that is done in it."""
        return [key for task in self.tasks for key in task.keys]


def batches_of(tasks: Sequence[Task[Any]], *, most: int, minutes: float) -> list[Batch[Any]]:
    """The batches of some tasks: at most `most` tasks each, expected within half of a limit of `minutes`."""
    whole = [Batch((task,)) for task in tasks if task.whole]
    groups: dict[str, list[Task[Any]]] = {}
    for task in tasks:
        if not task.whole:
            groups.setdefault(task.after, []).append(task)
    return whole + [batch for group in groups.values() for batch in balanced(group, most, minutes * 60 * LIMIT_SHARE)]


def balanced(tasks: Sequence[Task[Any]], most: int, seconds: float) -> list[Batch[Any]]:
    """As few batches as hold the tasks, the longest tasks shared out first; a batch keeps the order of its tasks."""
    count = max(math.ceil(len(tasks) / most), math.ceil(sum(task.seconds for task in tasks) / seconds))
    count = min(count, len(tasks))
    loads = [(0.0, place) for place in range(count)]
    shares: list[list[int]] = [[] for _ in range(count)]
    for number in sorted(range(len(tasks)), key=lambda number: -tasks[number].seconds):
        load, place = heapq.heappop(loads)
        shares[place].append(number)
        if len(shares[place]) < most:
            heapq.heappush(loads, (load + max(tasks[number].seconds, 1e-6), place))
    return [Batch(tuple(tasks[number] for number in sorted(share))) for share in shares]


def arrays_of(batches: Sequence[Batch[Any]], most: int) -> list[list[Batch[Any]]]:
    """The batches as arrays of at most `most` jobs, which wait for one task and need equal resources."""
    arrays: dict[tuple[str, bool], list[Batch[Any]]] = {}
    for batch in batches:
        arrays.setdefault((batch.after, batch.whole), []).append(batch)
    return [own[start : start + most] for own in arrays.values() for start in range(0, len(own), most)]
