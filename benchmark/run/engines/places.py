"""Which task begins where: the devices of a machine, each with tasks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.run.engines.engine import Result, Task, Waiting, Work


@dataclass(eq=False)
class Place:
    """A device, and the tasks that run there."""

    jobs: int
    """Most tasks at a time."""
    running: int = 0
    whole: int = 0
    """Of the running tasks."""

    def count(self, task: Task[Any], change: int) -> None:
        """Count a task that begins (1) or ends (-1)."""
        self.running += change
        self.whole += change * task.whole


def next_task(
    waiting: Waiting[Work, Result], places: Sequence[Place], abreast: int, held: Task[Work] | None = None
) -> tuple[Task[Work], int] | None:
    """The next task that can begin and the number of its place, the least busy one; None if there is none now.

    abreast: most whole tasks at a time on a place; held: a task that was taken before, and begins first.
    """
    free = [number for number, place in enumerate(places) if place.running < place.jobs]
    roomy = [number for number in free if places[number].whole < abreast]
    task = held or (waiting.take(whole=bool(roomy)) if free else None)
    if task is None:
        return None
    return task, min(roomy if task.whole and roomy else free, key=lambda number: places[number].running)
