"""Terminal output by rich: notes, errors, progress and tables; plain lines without escape codes elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich import box
from rich.console import Console as Console  # callers name the type without knowing rich
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from benchmark.results.names import visible

PIPE_WIDTH = 120
LINE_SECONDS = 30.0  # between two plain lines about progress, where there is no terminal
SPEED_SECONDS = 3600.0  # over which the time left is taken from what was done: cells take minutes


def open_console(file: TextIO | None = None) -> Console:
    """Open a console on stdout or `file`, without markup; 120 columns wide if it is no terminal."""
    is_terminal = (file or sys.stdout).isatty()  # the stream of a notebook asks for colours and is none
    console = Console(file=file, markup=False, highlight=False, emoji=False, force_terminal=is_terminal)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def note(console: Console, line: str) -> None:
    """Print one line literally and unwrapped, so that it can be searched and copied."""
    console.print(Text(visible(line)), soft_wrap=True)


def error(line: str) -> None:
    """Print one error unwrapped on stderr, in one line also where a name has a line feed."""
    message = Text.assemble(("error: ", "bold red"), visible(line.replace("\n", r"\n")))
    open_console(sys.stderr).print(message, soft_wrap=True)


def duration(seconds: float) -> str:
    """Return seconds as text: '8 s', '12 min', '3 h 20 min'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@contextmanager
def step(console: Console, title: str) -> Iterator[Callable[[int, int], None]]:
    """Show the progress of one step before the grid: call the result with (done, total), which may change."""
    with open_bars(console) as bars:
        started = printed = time.monotonic()
        bar = bars.add_task(visible(title), total=None, text="")

        def progress(done: int, total: int) -> None:
            nonlocal printed
            now = time.monotonic()
            bars.update(bar, completed=done, total=total, text=f"{done} of {total}")
            if done == total:
                note(console, f"{title}: {total} in {duration(now - started)}")
            elif bars.disable and now - printed >= LINE_SECONDS:
                printed = now
                note(console, f"{title}: {done} of {total}")

        yield progress


def open_bars(console: Console, *, with_time: bool = True) -> Progress:
    """Open bars, each with a `text`, that are not started yet; nothing is drawn without a terminal.

    with_time: beside each the time that is left, by what was done of it.
    """
    no_wrap = Column(no_wrap=True, overflow="ellipsis")
    is_drawn = console.is_terminal and not console.is_dumb_terminal
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, min_width=12)),
        BarColumn(bar_width=16, table_column=Column(min_width=16)),
        TextColumn("{task.fields[text]}", markup=False, table_column=no_wrap),
        *([TimeRemainingColumn()] if with_time else []),
        console=console if is_drawn else Console(quiet=True),  # rich before 14.3 ends disabled bars with an empty line
        transient=True,
        disable=not is_drawn,
        speed_estimate_period=SPEED_SECONDS,
    )


def print_table(console: Console, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table between empty lines: a column of labels, which wrap, then columns of numbers."""
    table = Table(box=box.HORIZONTALS, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, heading in enumerate(headings):
        is_label = number == 0
        table.add_column(
            Text(visible(heading)), justify="left" if is_label else "right", no_wrap=not is_label, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print("", table, "")
