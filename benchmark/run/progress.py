"""How far a grid is: files that pretrainings write beside their checkpoints, and the bars that are drawn of them.

A pretraining writes its progress at most every two seconds, so that any process that sees the store can show it: the
command that runs the grid, and `status` in another shell.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from benchmark.results.files import write_atomic
from benchmark.results.store import Store
from benchmark.screen import Console, duration, note, open_bars

if TYPE_CHECKING:
    from benchmark.run.grid import Pretraining
    from benchmark.run.tasks import Outcome, Task, Work

PROGRESS = "progress.json"
"""In the folder of a pretraining while it runs."""
WRITE_SECONDS = 2.0
SAY_SECONDS = 30.0
"""Between two lines where there is no terminal."""


@dataclass(frozen=True)
class Progress:
    """How far a pretraining is."""

    name: str
    done: int
    total: int
    """Updates."""
    text: str
    """'epoch 3/10 loss 1.2345'."""


class ProgressFile:
    """The progress file of a running pretraining, removed when the context is left: it ends, fails or is stopped."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / PROGRESS
        self.name = name
        self.written = -WRITE_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):
            self.path.unlink()

    def write(self, done: int, total: int, text: str) -> None:
        """Write how far it is, if that was not done just before. A file that cannot be written stops no training."""
        now = time.monotonic()
        if now - self.written >= WRITE_SECONDS:
            self.written = now
            with suppress(OSError):
                write_atomic(self.path, json.dumps(asdict(Progress(self.name, done, total, text))).encode())


def read_progress(folder: Path) -> Progress | None:
    """The progress of a pretraining by its folder; None without a readable file."""
    try:
        stored = json.loads((folder / PROGRESS).read_bytes())
        return Progress(str(stored["name"]), int(stored["done"]), int(stored["total"]), str(stored["text"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def weight_of(pretraining: Pretraining) -> float:
    """What a pretraining costs beside others, roughly: epochs times encoder passes of an update."""
    return float(pretraining.content.get("epochs", 0)) * pretraining.method.encoder_passes


class GridProgress:
    """Context in which the progress of a grid is shown: bars on a terminal, a line per half-minute elsewhere.

    A bar a stage, that of the pretrainings in units of cost, and one per running pretraining. Leaving the context
    restores the terminal.
    """

    def __init__(self, console: Console, work: Work, store: Store) -> None:
        self.console = console
        self.store = store
        self.weights = {task.key: weight_of(task) for task in work.pretrainings}
        self.total = Counter(pretrainings=len(work.pretrainings), cells=len(work.cells))
        self.done: Counter[str] = Counter()
        self.failed = 0
        self.began = self.spoke = time.monotonic()
        self.bars = open_bars(console)
        self.stages = {
            "pretrainings": self.bars.add_task("pretrainings", total=sum(self.weights.values()), text=""),
            "cells": self.bars.add_task("cells", total=len(work.cells), text=""),
        }
        self.running: dict[str, Any] = {}
        """Key of a running pretraining -> its bar."""
        self.ended_weight = 0.0

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bars.stop()
        word = "stopped" if kind else "finished"
        failed = f", {self.failed} failed" if self.failed else ""
        done = f"{self.done.total()} of {self.total.total()} done{failed}"
        note(self.console, f"{word}: {done}, in {duration(time.monotonic() - self.began)}")

    def begin(self, task: Task) -> None:
        """Show a bar for a pretraining."""
        if task.is_pretraining:
            self.running[task.key] = self.bars.add_task(f"  {task.name}", total=1.0, text="")

    def end(self, task: Task, outcomes: Sequence[Outcome]) -> None:
        """Count the parts of a task that has ended, and say what failed."""
        if task.key in self.running:
            self.bars.remove_task(self.running.pop(task.key))
            self.ended_weight += self.weights[task.key]
        for outcome in outcomes:
            if outcome.failure:
                self.failed += 1
                where = f"; traceback in {outcome.file}" if outcome.failure.traceback and outcome.file else ""
                note(self.console, f"FAILED  {outcome.name}: {outcome.failure.line}{where}")
            else:
                self.done["pretrainings" if task.is_pretraining else "cells"] += 1
        if not task.is_pretraining:
            self.bars.advance(self.stages["cells"], len(outcomes))

    def refresh(self, running: Sequence[Task]) -> None:
        """Read how far the running pretrainings are, and show it."""
        weight, texts = self.ended_weight, []
        for task in running:
            if task.key in self.running and (found := read_progress(self.store.pretrained / task.key)):
                share = found.done / max(found.total, 1)
                weight += share * self.weights[task.key]
                self.bars.update(self.running[task.key], completed=share, text=found.text)
                texts.append(f"{task.name} {found.text}")
        self.bars.update(self.stages["pretrainings"], completed=weight)
        for stage, bar in self.stages.items():
            self.bars.update(bar, text=f"{self.done[stage]} of {self.total[stage]}")
        if not self.console.is_terminal and time.monotonic() - self.spoke >= SAY_SECONDS:
            self.spoke = time.monotonic()
            failed = [f"{self.failed} failed"] if self.failed else []
            note(self.console, "; ".join([*(self.stage_line(stage) for stage in self.stages), *failed, *texts]))

    def stage_line(self, stage: str) -> str:
        """'12 of 36 cells, about 3 min left'."""
        counted = f"{self.done[stage]} of {self.total[stage]} {stage}"
        (left,) = (bar.time_remaining for bar in self.bars.tasks if bar.id == self.stages[stage])
        return f"{counted}, about {duration(left)} left" if left else counted
