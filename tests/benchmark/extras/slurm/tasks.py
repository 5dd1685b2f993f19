"""Tasks that cost nothing, which tests of the queue hand over: each leaves a file when it begins and when it ends."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.run.local import Order, Start, Task, Tell


class Chore(NamedTuple):
    """What a task does."""

    folder: Path
    name: str
    how: str = "done"
    """'done', 'waits' until the file `go` is there, 'fails', or 'held' by another runner."""


def do(chore: Chore, tell: Tell) -> Start | None:
    """Run a chore."""
    (chore.folder / f"{chore.name}.begun.{os.getpid()}").touch()
    if chore.how == "held":
        return Start.LATER
    if chore.how == "fails":
        raise ValueError("out of luck")
    while chore.how == "waits" and not (chore.folder / "go").exists():
        time.sleep(0.1)
    (chore.folder / f"{chore.name}.done").write_text(chore.name)
    return None


def task(folder: Path, name: str, how: str = "done", **further: Any) -> Task[Chore]:
    return Task(name, name, Chore(folder, name, how), **further)


def order(folder: Path, tasks: list[Task[Chore]], told: list[str], **further: Any) -> Order[Chore, str]:
    """An order of chores; what the store holds of them is what is in the folder."""

    def found(task: Task[Chore]) -> str | None:
        file = folder / f"{task.key}.done"
        return file.read_text() if file.is_file() else None

    def begin(task: Task[Chore]) -> Task[Chore] | Start:
        return task if found(task) is None else Start.NEVER

    return Order(tasks, do, begin=begin, found=found, on_told=told.append, **further)


def begun(folder: Path) -> list[str]:
    """Names of the chores that began, one of several beginnings as often as it began."""
    return sorted(file.name.partition(".begun.")[0] for file in folder.glob("*.begun.*"))
