"""Progress of a step or a grid: bars on a terminal, elsewhere plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console as Console  # callers name the type without knowing rich
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from benchmark.screen.console import note
from benchmark.screen.harmless import harmless
from benchmark.screen.tally import Cost, Tally, duration, left

INNER_SECONDS = 30.0
"""Least seconds between two plain lines about a running task."""


WIDTH_OF_BARS = 72


@contextmanager
def step(console: Console, what: str, shown: Callable[[int], str] = str) -> Iterator[Callable[[int, int], None]]:
    """Progress of one step before the grid: call the result with (done, total). Silent if never called.

    `shown` writes a number: of pieces, or of bytes. The total may change between calls.
    """
    bar = _live_bars(console) if console.is_terminal and not console.is_dumb_terminal else None
    started = spoke = time.monotonic()
    task: TaskID | None = None

    def progress(done: int, total: int) -> None:
        nonlocal task, spoke
        now = time.monotonic()
        ahead = duration((now - started) / done * (total - done)) if done else ""
        words = f"{shown(done)} of {shown(total)}, about {ahead} left" if done else ""
        if bar:
            task = bar.add_task(what, total=total, text="") if task is None else task
            bar.update(task, completed=done, total=total, text=words)
        elif done < total and now - spoke >= INNER_SECONDS:
            spoke = now
            note(console, f"{what}: {words}")
        if done == total:
            rate = total / max(now - started, 1e-3)
            speed = f" ({shown(round(rate))}/s)" if rate >= 1 else ""
            note(console, f"{what}: {shown(total)} in {duration(now - started)}{speed}")

    if bar:
        bar.start()
    try:
        yield progress
    finally:
        if bar:
            bar.stop()


class GridProgress:
    """Context manager that shows the progress of a grid: bars on a terminal, plain lines elsewhere.

    costs: unique, printed name of every task -> what it is expected to take; earlier: as in `Tally`. Several tasks may
    run at once. Leaving the context, also by Ctrl-C, restores the terminal.
    """

    def __init__(
        self,
        console: Console,
        costs: Mapping[str, Cost],
        clock: Callable[[], float] = time.monotonic,
        *,
        earlier: Mapping[str, float] | None = None,
    ) -> None:
        self._console = console
        self._clock = clock
        self._tally = Tally(costs, earlier or {})
        self._since: dict[str, float] = {}
        self._bars: dict[str, TaskID] = {}
        self._spoke = self._start = clock()
        self._waited = False
        self._live = _live_bars(console) if console.is_terminal and not console.is_dumb_terminal else None
        self._grid = self._live.add_task("all", total=self._tally.total(), text="") if self._live else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        self._refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        word = "stopped" if kind else "finished"
        note(self._console, f"{word}: {self._tally.counts()}, in {duration(self._clock() - self._start)}")

    def started(self, task: str) -> None:
        """Mark a task as running."""
        self._tally.running[task] = 0.0, 0.0
        self._since[task] = self._clock()
        if self._live:
            self._bars[task] = self._live.add_task(task, total=1.0, text="")

    def inner(self, task: str, done: int, total: int, text: str) -> None:
        """Update a running task: `done` of `total` steps, and a short text, e.g. 'epoch 3/10 loss 1.234'."""
        self._tally.running[task] = done / total, self._clock() - self._since[task]
        if self._live:
            self._live.update(self._bars[task], completed=done / total, text=text)
            self._refresh()
        elif self._clock() - self._spoke >= INNER_SECONDS:
            self._say(f"        {task}: {text}; {self._ahead()}")

    def finished(self, task: str, seconds: float | None = None) -> None:
        """Mark a task as done. seconds: its duration, if other than the time since `started`."""
        since_started = self._close(task)
        seconds = since_started if seconds is None else seconds
        self._tally.finished[task] = seconds
        self._refresh()
        if not self._live:
            self._say(f"done    {task} ({duration(seconds)}); {self._tally.counts()}; {self._ahead()}")

    def failed(self, task: str, reason: str) -> None:
        """Mark a task, running or not yet started, as failed and print the reason."""
        seconds = self._close(task)
        self._tally.failed.append(task)
        self._refresh()
        where = "" if self._live else f"; {self._tally.counts()}; {self._ahead()}"
        self._say(f"FAILED  {task} ({duration(seconds)}){where}")
        self._say(f"        {reason}")

    def elsewhere(self, task: str) -> None:
        """Mark a task as done by another runner."""
        self._tally.elsewhere.append(task)
        self._refresh()

    def waiting(self, line: str) -> None:
        """Say what is waited for, at first and then from time to time."""
        if not self._waited or self._clock() - self._spoke >= INNER_SECONDS:
            self._waited = True
            self._say(f"        {line}; {self._tally.counts()}")

    def note(self, line: str) -> None:
        """Print a line between those of the tasks."""
        self._say(line)

    def _close(self, task: str) -> float:
        """Remove a task from the running ones; returns the seconds it ran."""
        self._tally.running.pop(task, None)
        if self._live and task in self._bars:
            self._live.remove_task(self._bars.pop(task))
        now = self._clock()
        return now - self._since.pop(task, now)

    def _ahead(self) -> str:
        return left(self._tally.seconds_left())

    def _refresh(self) -> None:
        if self._live and self._grid is not None:
            self._live.update(
                self._grid, completed=self._tally.through(), text=f"{self._tally.counts()}, {self._ahead()}"
            )

    def _say(self, line: str) -> None:
        self._spoke = self._clock()
        self._console.print(harmless(line), soft_wrap=not self._live)


def _live_bars(console: Console) -> Progress:
    """A line for the grid and one per running task, cut rather than wrapped; without bars on a narrow terminal."""
    name, words = "{task.description}", "{task.fields[text]}"
    if console.width < WIDTH_OF_BARS:
        return Progress(_cut_text(f"{name} {words}"), console=console, transient=True)
    return Progress(_cut_text(name), BarColumn(bar_width=16), _cut_text(words), console=console, transient=True)


def _cut_text(text_format: str) -> TextColumn:
    return TextColumn(text_format, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
