"""Terminal output: notes, errors, progress and tables. The one owner of rich.

Notes and errors on the terminal; plain lines without escape codes elsewhere. `NO_COLOR` is honoured.

Tables and paragraphs fitted to the terminal's width, drawn by rich; numbers are never wrapped or cut.

Columns that do not fit move to further tables below, by whole groups (datasets) where possible; labels are repeated.

Progress and remaining time of a grid of tasks: arithmetic only, no clock and no terminal.

Every task has expected seconds and a kind. How much longer a kind takes than expected is learned from its finished
tasks; of a kind without any, from earlier runs, else from the other kinds, and then the time left is a range.
"""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from types import TracebackType
from typing import NamedTuple, Self, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console as Console  # callers name the type without knowing rich
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column, Table
from rich.text import Text

PIPE_WIDTH = 120


STYLES = {"title": "bold", "block": "cyan", "best": "bold green", "gate": "italic", "faint": "dim", "": ""}
"""Role of a span of text -> rich style."""


def printable(text: str) -> str:
    """The text with ? for what has no UTF-8: half characters, of names of files in another encoding."""
    return text.encode("utf-8", "replace").decode()


def open_console(file: TextIO | None = None, width: int | None = None) -> Console:
    """A console on stdout or `file`, without markup; 120 columns wide if it is no terminal."""
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    if width is None and not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def note(console: Console, line: str) -> None:
    """Print one line unwrapped, so that it can be searched and copied."""
    console.print(printable(line), soft_wrap=True)


def error(line: str) -> None:
    """Print one error line unwrapped on stderr."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    console.print(Text.assemble(("error: ", "bold red"), printable(line)), soft_wrap=True)


LEAST_SHARE = 0.02
"""Share of a kind's expected seconds that is to be done before the kind is known."""
UNSURE = 2.0
"""Factor by which a kind that is not known may take more or less than expected."""
START_SECONDS = 10.0
"""Expected seconds up to which a kind's rate tells more of what every task costs at its start than of other kinds."""
LEAST_RATE = 1e-6
"""For the logarithm of a rate: a clock may tell that a task took no time."""
ABOUT = 1.3
"""Ratio of the ends of a range up to which it is told as one number."""


class Cost(NamedTuple):
    """What a task is expected to take."""

    seconds: float
    """On its own."""
    kind: str = ""
    """Tasks of one kind are alike in how far they are from what is expected."""
    concurrent: int = 1
    """Tasks of the kind that run at once."""


@dataclass
class Tally:
    """Progress of a grid: finished, failed and running tasks with their expected costs."""

    costs: Mapping[str, Cost]
    """Task -> what it is expected to take."""
    earlier: Mapping[str, float] = field(default_factory=dict)
    """Kind -> seconds per expected second in earlier runs."""
    finished: dict[str, float] = field(default_factory=dict)
    """Task -> seconds it took."""
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Done by another runner."""
    running: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Task -> share done, 0 to 1, and the seconds since it began when that was told."""

    def worked(self) -> float:
        """Expected seconds done: finished tasks, and the done shares of running ones."""
        parts = sum(self.costs[task].seconds * share for task, (share, _) in self.running.items())
        return sum(self.costs[task].seconds for task in (*self.finished, *self.elsewhere)) + parts

    def total(self) -> float:
        """Expected seconds of all tasks."""
        return sum(cost.seconds for cost in self.costs.values())

    def through(self) -> float:
        """Expected seconds of what no longer lies ahead: done, or failed."""
        return self.total() - sum(self._ahead().values())

    def seconds_left(self) -> tuple[float, float] | None:
        """Least and most seconds left; None while nothing is known of any kind."""
        rates = {**self.earlier, **self._rates()}
        if not rates:
            return None
        ahead = self._ahead()
        around = self._around(rates)
        least = most = 0.0
        for (kind, concurrent), seconds in ahead.items():
            rate, unsure = (rates[kind], 1.0) if kind in rates else (around, UNSURE)
            least += seconds * rate / unsure / concurrent
            most += seconds * rate * unsure / concurrent
        own = self.worked() - sum(self.costs[task].seconds for task in self.elsewhere)
        share = own / self.worked() if own > 0 else 1.0  # others do the rest of what is ahead
        return least * share, most * share

    def counts(self) -> str:
        """Counts as text: '5 of 19 done, 13 left, 1 failed'."""
        done = len(self.finished) + len(self.elsewhere)
        others = f" ({len(self.elsewhere)} by other runners)" if self.elsewhere else ""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{done} of {len(self.costs)} done{others}, {len(self.costs) - done - len(self.failed)} left{failed}"

    def _ahead(self) -> dict[tuple[str, int], float]:
        """Kind and tasks at once -> expected seconds left, without failed tasks."""
        over = {*self.finished, *self.failed, *self.elsewhere}
        ahead: dict[tuple[str, int], float] = {}
        for task, cost in self.costs.items():
            if task not in over:
                share, _ = self.running.get(task, (0.0, 0.0))
                key = cost.kind, cost.concurrent
                ahead[key] = ahead.get(key, 0.0) + cost.seconds * (1 - share)
        return ahead

    def _rates(self) -> dict[str, float]:
        """Kind -> seconds per expected second, of the kinds of which enough is done."""
        took, expected = self._parts()
        whole: dict[str, float] = {}
        for cost in self.costs.values():
            whole[cost.kind] = whole.get(cost.kind, 0.0) + cost.seconds
        return {kind: took[kind] / own for kind, own in expected.items() if own > LEAST_SHARE * whole[kind]}

    def _parts(self) -> tuple[dict[str, float], dict[str, float]]:
        """Kind -> seconds taken, and kind -> seconds expected, of what is done in this process."""
        took: dict[str, float] = {}
        expected: dict[str, float] = {}
        parts = {task: (1.0, seconds) for task, seconds in self.finished.items()}
        for task, (share, seconds) in (parts | {task: part for task, part in self.running.items() if part[0]}).items():
            cost = self.costs[task]
            took[cost.kind] = took.get(cost.kind, 0.0) + seconds
            expected[cost.kind] = expected.get(cost.kind, 0.0) + share * cost.seconds
        return took, expected

    def _around(self, rates: Mapping[str, float]) -> float:
        """The rate that is expected of a kind without one: the geometric mean of the others, each as one.

        One that was learned from short tasks is drawn towards 1.
        """
        expected = self._parts()[1]
        short = {kind: own / (own + START_SECONDS) for kind, own in expected.items() if kind not in self.earlier}
        logs = [math.log(max(rate, LEAST_RATE)) * short.get(kind, 1.0) for kind, rate in rates.items()]
        return math.exp(sum(logs) / len(logs))


def left(bounds: tuple[float, float] | None) -> str:
    """A time left as text: 'about 12 min left', '5 min to 12 min left', 'time left not known yet'."""
    if bounds is None:
        return "time left not known yet"
    least, most = bounds
    if most <= ABOUT * least or duration(least) == duration(most):
        return f"about {duration((least * most) ** 0.5)} left"
    return f"{duration(least)} to {duration(most)} left"


def duration(seconds: float) -> str:
    """Seconds as text: '8 s', '12 min', '3 h 20 min', '2 d 4 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


INNER_SECONDS = 30.0
"""Least seconds between two plain lines about the progress of a grid; a task that took longer has a line of its own."""


WIDTH_OF_BARS = 72


@contextmanager
def step(console: Console, what: str, shown: Callable[[int], str] = str) -> Iterator[Callable[[int, int], None]]:
    """Progress of one step before the grid: call the result with (done, total). Silent if never called.

    `shown` writes a number: of pieces, or of bytes. The total may change between calls. The time left is of the rate
    since the first piece, which waits for processes to start.
    """
    bar = _live_bars(console) if console.is_terminal and not console.is_dumb_terminal else None
    started = spoke = time.monotonic()
    task: TaskID | None = None
    first: tuple[int, float] | None = None

    def progress(done: int, total: int) -> None:
        nonlocal task, spoke, first
        now = time.monotonic()
        words = f"{shown(done)} of {shown(total)}" if done else ""
        if first and done > first[0]:
            words += f", about {duration((now - first[1]) / (done - first[0]) * (total - done))} left"
        elif done and not first:
            first = done, now
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
        if not self._live and (seconds >= INNER_SECONDS or self._clock() - self._spoke >= INNER_SECONDS):
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
        self._console.print(printable(line), soft_wrap=not self._live)


def _live_bars(console: Console) -> Progress:
    """A line for the grid and one per running task, cut rather than wrapped; without bars on a narrow terminal."""
    name, words = "{task.description}", "{task.fields[text]}"
    if console.width < WIDTH_OF_BARS:
        return Progress(_cut_text(f"{name} {words}"), console=console, transient=True)
    return Progress(_cut_text(name), BarColumn(bar_width=16), _cut_text(words), console=console, transient=True)


def _cut_text(text_format: str) -> TextColumn:
    return TextColumn(text_format, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))


Span = tuple[str, str]
"""Text and its role in `STYLES`."""
Cell = str | Sequence[Span]
Row = Sequence[Cell]
"""One cell per column, or fewer: a block's title is a row of one cell."""
TableColumn = tuple[str, str, str]
"""Group ('' for none), heading, and kind: 'label' (in every table, wraps), 'left' or 'right' (aligned, whole)."""
LABEL_SHARE = 4
"""A label keeps at least 1 / LABEL_SHARE of the width; columns that then do not fit move to a table below."""


def print_sheet(
    console: Console,
    above: Iterable[Span],
    columns: Sequence[TableColumn],
    blocks: Sequence[Sequence[Row]],
    below: Iterable[Span],
) -> None:
    """Print paragraphs, a table, and paragraphs."""
    print_paragraphs(console, above)
    print_table(console, columns, blocks)
    print_paragraphs(console, below)


def print_paragraphs(console: Console, paragraphs: Iterable[Span]) -> None:
    """Print paragraphs wrapped to the width, with a hanging indent of 2; '' is an empty line."""
    for text, role in paragraphs:
        deeper = " " * (len(text) - len(text.lstrip()) + 2)
        for line in textwrap.wrap(text, console.width, subsequent_indent=deeper, break_on_hyphens=False) or [""]:
            console.print(Text(printable(line), STYLES[role]), no_wrap=True)


def print_prose(console: Console, lines: Iterable[str]) -> None:
    """Print lines of words: broken between words on a terminal, whole elsewhere, where they are searched."""
    for line in lines:
        if console.is_terminal:
            print_paragraphs(console, [(line, "")])
        else:
            note(console, line)


def print_table(console: Console, columns: Sequence[TableColumn], blocks: Sequence[Sequence[Row]]) -> None:
    """Print one or more tables between empty lines, with a rule between blocks; nothing without rows."""
    if not any(blocks):
        return
    draw = partial(_table, columns, blocks, console.width // LABEL_SHARE)
    endless = console.options.update(max_width=sys.maxsize)
    for shown in _side_by_side(
        columns, lambda tried: Measurement.get(console, endless, draw(tried)).minimum <= console.width
    ):
        console.print()
        console.print(draw(shown))
    console.print()


def _side_by_side(columns: Sequence[TableColumn], fits: Callable[[list[int]], bool]) -> Iterator[list[int]]:
    """Column indices of each table: whole groups while they fit, single columns of a group that does not."""
    labels = [index for index, (_, _, kind) in enumerate(columns) if kind == "label"]
    shown = labels
    for _, members in groupby(range(len(labels), len(columns)), key=lambda index: columns[index][0]):
        group = list(members)
        for part in [group] if fits(labels + group) else [[index] for index in group]:
            if shown != labels and not fits(shown + part):
                yield shown
                shown = labels
            shown = shown + part
    yield shown


def _table(columns: Sequence[TableColumn], blocks: Sequence[Sequence[Row]], least: int, shown: Sequence[int]) -> Table:
    """A table of the `shown` columns, a group's name above its first; labels are at least `least` wide."""
    table = Table(
        box=box.HORIZONTALS, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style=STYLES["title"], border_style=STYLES["faint"],
    )  # fmt: skip
    grouped, before = any(group for group, _, _ in columns), ""
    for index in shown:
        group, heading, kind = columns[index]
        above = f"{group if group != before else ''}\n" if grouped else ""
        texts = [group, heading, *(_text(row[index]) for block in blocks for row in block if index < len(row))]
        widest = max(map(cell_len, map(str, texts)))
        table.add_column(
            _text(f"{above}{heading}"),
            justify="right" if kind == "right" else "left",
            no_wrap=kind != "label",
            min_width=min(widest, least) if kind == "label" else widest,
        )
        before = group
    for block in blocks:
        for row in block:
            table.add_row(*(_text(row[index]) for index in shown if index < len(row)))
        table.add_section()
    return table


def _text(cell: Cell) -> Text:
    spans = [(cell, "")] if isinstance(cell, str) else cell
    return Text.assemble(*((printable(text), STYLES[role]) for text, role in spans))
