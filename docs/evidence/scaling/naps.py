"""Tasks that sleep, and what a job's process takes, for check.py. Imported in jobs, so it is light."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.run.local import Order, Task, Tell


class Nap(NamedTuple):
    """What a task does."""

    folder: Path
    key: str
    seconds: float
    module: str = ""
    """Imported before it, as a job of a grid does."""


def nap(own: Nap, tell: Tell) -> None:
    """Sleep, and leave a file."""
    if own.module:
        importlib.import_module(own.module)
    time.sleep(own.seconds)
    (own.folder / own.key).touch()


def naps(folder: Path, tasks: Sequence[Task[None]], module: str = "") -> Order[Nap, bool]:
    """An order of naps as long as the tasks are expected to take."""
    order = [
        Task(own.key, own.name, Nap(folder, own.key, own.seconds, module), own.after, own.seconds, own.is_pretraining)
        for own in tasks
    ]
    return Order(order, nap, found=lambda task: (folder / task.key).exists() or None)


@dataclass(frozen=True)
class Metered:
    """A function of an order that notes, after each task, what its process has taken so far."""

    function: Callable[[Any, Tell], Any]
    folder: Path

    def __call__(self, work: Any, tell: Tell) -> Any:
        """Run a task and note it."""
        try:
            return self.function(work, tell)
        finally:
            born = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
            alive = float(Path("/proc/uptime").read_text().split()[0]) - born
            (self.folder / f"{os.getpid()}.meter").write_text(f"{time.process_time()} {alive}")


def metered(order: Order[Any, Any], folder: Path) -> Order[Any, Any]:
    """The order with its function metered."""
    return replace(order, function=Metered(order.function, folder))


class Taken(NamedTuple):
    """What the jobs of an order took."""

    cpu: float
    """Processor seconds, of all jobs."""
    alive: float
    """Seconds from each process's start to the end of its last task, of all jobs."""
    jobs: int


def taken(folder: Path) -> Taken:
    """What was noted under a folder."""
    notes = [path.read_text().split() for path in folder.glob("*.meter")]
    return Taken(sum(float(cpu) for cpu, _ in notes), sum(float(alive) for _, alive in notes), len(notes))
