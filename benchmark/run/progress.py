"""The progress of a grid: files that pretrainings write beside their checkpoints, and the bars that are drawn of
them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchmark.results.files import digested_json, read_digested_json, write_atomic
from benchmark.results.names import visible
from benchmark.results.store import Store
from benchmark.screen import LINE_SECONDS, Console, duration, note, open_bars

if TYPE_CHECKING:
    from benchmark.run.tasks import Ending, Job, Work

PROGRESS = "progress.json"  # in the folder of a pretraining while it runs
WRITE_SECONDS = 2.0
TimeClass = tuple[str, bool]
"""Cells that take about as long: their evaluation, and whether they come first in a job, which computes what is
shared."""


@dataclass(frozen=True)
class Progress:
    """Progress of a pretraining."""

    name: str
    done: int
    total: int  # updates
    text: str  # 'epoch 3/10 loss 1.2345'


@contextmanager
def progress_file(folder: Path, name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Give what writes the progress file of a pretraining, now and then, and remove the file at the end."""
    file = folder / PROGRESS
    written = -WRITE_SECONDS

    def write(done: int, total: int, text: str) -> None:
        nonlocal written
        if time.monotonic() - written >= WRITE_SECONDS:
            written = time.monotonic()
            write_atomic(file, digested_json(asdict(Progress(name, done, total, text))))

    try:
        yield write
    finally:
        file.unlink(missing_ok=True)


def read_progress(folder: Path) -> Progress | None:
    """Read the progress of a pretraining by its folder; None without a whole file: the next is seconds away."""
    try:
        return Progress(**read_digested_json(folder / PROGRESS))
    except (OSError, ValueError):
        return None


class GridProgress:
    """Context that shows the progress of a grid: a bar per stage, or on a pipe a line per half-minute."""

    def __init__(self, console: Console, work: Work, store: Store) -> None:
        self.console, self.store = console, store
        self.total = {"pretrainings": len(work.pretrainings), "cells": len(work.cells)}
        self.done, self.failed = Counter[str](), Counter[str]()
        self.remaining, self.timed = Counter[TimeClass](), Counter[TimeClass]()
        """Numbers of cells that have not ended, and that were timed."""
        self.seconds: dict[TimeClass, float] = defaultdict(float)
        """Sums of the seconds of the cells that were timed."""
        for job in work.jobs:
            self.remaining.update(job.time_classes)
        self.passes = {pretraining.key: pretraining.passes for pretraining in work.pretrainings}
        self.ended_passes = 0.0
        self.first_look: tuple[float, float] | None = None
        """Time at which pretrainings were first seen to have done encoder passes, and their number."""
        self.began = self.printed = time.monotonic()
        self.bars = open_bars(console, with_time=False)
        self.stages = {stage: self.bars.add_task(stage, total=count, text="") for stage, count in self.total.items()}

    def __enter__(self) -> Self:
        self.bars.start()
        return self

    def __exit__(self, error: type[BaseException] | None, *raised: object) -> None:
        self.bars.stop()
        done = f"{self.done.total()} of {sum(self.total.values())} done, {self.failed.total()} failed"
        elapsed = duration(time.monotonic() - self.began)
        note(self.console, f"{'stopped' if error else 'finished'}: {done}, in {elapsed}")

    def end(self, job: Job, endings: Sequence[Ending]) -> None:
        """Count the parts of a task that has ended, and say what failed."""
        if job.is_pretraining:
            self.ended_passes += self.passes[job.key]
        for time_class, ending in zip(job.time_classes, endings, strict=False):  # a pretraining has none
            self.remaining[time_class] -= 1
            self.timed[time_class] += ending.seconds > 0
            self.seconds[time_class] += ending.seconds
        for ending in endings:
            (self.failed if ending.failure else self.done)["pretrainings" if job.is_pretraining else "cells"] += 1
            if ending.failure:
                where = f"; traceback in {ending.file}" if ending.failure.traceback else ""
                note(self.console, f"FAILED  {ending.name}: {ending.failure.line}{where}")

    def cells_left(self, running: int) -> float | None:
        """Estimate the seconds that the cells still take, by those that have ended; None where one was not timed."""
        total = 0.0
        for time_class, count in (+self.remaining).items():
            if not self.timed[time_class]:
                return None
            total += count * self.seconds[time_class] / self.timed[time_class]
        return total / max(1, running)

    def pretrainings_left(self, of_running: float) -> float | None:
        """Estimate the seconds that the pretrainings still take, by encoder passes; None before some were seen done.

        of_running: passes that the running pretrainings have done.
        """
        now, done = time.monotonic(), self.ended_passes + of_running
        if done and self.first_look is None:  # of a checkpoint some may be done
            self.first_look = now, done
        began, before = self.first_look or (now, done)
        return (now - began) * (sum(self.passes.values()) - done) / (done - before) if done > before else None

    def refresh(self, running: Sequence[Job], remark: str = "") -> None:
        """Read how far the running pretrainings are, and show it, with a remark beside the cells."""
        trained = []
        passes = 0.0
        for job in running:
            progress = read_progress(self.store.pretrained / job.key) if job.is_pretraining else None
            if progress:
                trained.append(progress)
                passes += self.passes[job.key] * progress.done / progress.total
        seconds_to_go = {"pretrainings": self.pretrainings_left(passes), "cells": self.cells_left(len(running))}
        lines = []
        for stage, bar in self.stages.items():
            shown = trained if stage == "pretrainings" else []
            ended = self.done[stage] + self.failed[stage] + sum(progress.done / progress.total for progress in shown)
            self.bars.update(bar, completed=ended)
            count = f"{self.done[stage]} of {self.total[stage]}"
            if eta := seconds_to_go[stage]:  # before the names of tasks, which a narrow terminal cuts
                count += f", about {duration(eta)} to go"
            texts = [count, *(f"{progress.name} {progress.text}" for progress in shown)]
            if remark and stage == "cells":
                texts.append(remark)
            text = "; ".join(texts)
            self.bars.update(bar, text=visible(text))
            lines.append(f"{stage} {text}")
        if not self.console.is_terminal and time.monotonic() - self.printed >= LINE_SECONDS:
            self.printed = time.monotonic()
            note(self.console, "; ".join([*lines, f"{self.failed.total()} failed"]))
