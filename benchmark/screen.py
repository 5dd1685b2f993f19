"""Terminal output by rich: notes, errors, progress, paragraphs and tables; plain lines without escape codes elsewhere.

Tables are fitted to the terminal's width, and numbers are never wrapped or cut: columns that do not fit move to further
tables below, by whole groups (datasets) where possible, and labels are repeated.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Literal, TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console as Console  # callers name the type without knowing rich
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

PIPE_WIDTH = 120


STYLES = {"title": "bold", "block": "cyan", "best": "bold green", "gate": "italic", "faint": "dim", "": ""}
"""Role of a span of text -> rich style."""


def open_console(file: TextIO | None = None, width: int | None = None) -> Console:
    """A console on stdout or `file`, without markup; 120 columns wide if it is no terminal."""
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    if width is None and not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def note(console: Console, line: str) -> None:
    """Print one line unwrapped, so that it can be searched and copied."""
    console.print(line, soft_wrap=True)


def error(line: str) -> None:
    """Print one error line unwrapped on stderr."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    console.print(Text.assemble(("error: ", "bold red"), line), soft_wrap=True)


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


LINE_SECONDS = 30.0
"""Between two plain lines about progress, where there is no terminal."""
WIDTH_OF_BARS = 72
SPEED_SECONDS = 3600.0
"""Over which the time left is taken from what was done: cells take minutes."""


@contextmanager
def step(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Progress of one step before the grid: call the result with (done, total). Silent if never called.

    The total may change between calls.
    """
    with open_bars(console) as bars:
        started = printed = time.monotonic()
        bar = bars.add_task(what, total=None, text="", visible=False)

        def progress(done: int, total: int) -> None:
            nonlocal printed
            now = time.monotonic()
            bars.update(bar, completed=done, total=total, text=f"{done} of {total}", visible=True)
            if done == total:
                note(console, f"{what}: {total} in {duration(now - started)}")
            elif bars.disable and now - printed >= LINE_SECONDS:
                printed = now
                remaining = bars.tasks[0].time_remaining
                time_left = f", about {duration(remaining)} left" if remaining else ""
                note(console, f"{what}: {done} of {total}{time_left}")

        yield progress


def open_bars(console: Console) -> Progress:
    """Bars that are not started, each with a `text`, cut rather than wrapped; nothing is drawn without a terminal."""
    columns: list[ProgressColumn] = [
        TextColumn(text, markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        for text in ("{task.description}", "{task.fields[text]}")
    ]
    if console.width >= WIDTH_OF_BARS:
        columns.insert(1, BarColumn(bar_width=16))
        columns.append(TimeRemainingColumn())
    hidden = not console.is_terminal or console.is_dumb_terminal
    return Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=SPEED_SECONDS)


Span = tuple[str, str]
"""Text and its role in `STYLES`."""
TableCell = str | Sequence[Span]
TableRow = Sequence[TableCell]
"""One cell per column, or fewer: a block's title is a row of one cell."""
TableColumn = tuple[str, str, str]
"""Group ('' for none), heading, and kind: 'label' (in every table, wraps), 'left' or 'right' (aligned, whole)."""
LABEL_SHARE = 4
"""A label keeps at least 1 / LABEL_SHARE of the width; columns that then do not fit move to a table below."""


def print_sheet(
    console: Console,
    above: Iterable[Span],
    columns: Sequence[TableColumn],
    blocks: Sequence[Sequence[TableRow]],
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
            console.print(Text(line, STYLES[role]), no_wrap=True)


def print_table(console: Console, columns: Sequence[TableColumn], blocks: Sequence[Sequence[TableRow]]) -> None:
    """Print one or more tables between empty lines, with a rule between blocks; nothing without rows."""
    if not any(blocks):
        return
    least = console.width // LABEL_SHARE
    widths = []
    for index, (group, heading, kind) in enumerate(columns):
        cells = [str(_text(row[index])) for block in blocks for row in block if index < len(row)]
        widest = max(map(cell_len, (group, heading, *cells)))
        widths.append(min(widest, least) if kind == "label" else widest)
    for shown in _side_by_side(columns, lambda tried: sum(widths[index] + 1 for index in tried) <= console.width + 1):
        console.print()
        console.print(_table([columns[index] for index in shown], [widths[index] for index in shown], shown, blocks))
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


def _table(
    columns: Sequence[TableColumn], widths: Sequence[int], shown: Sequence[int], blocks: Sequence[Sequence[TableRow]]
) -> Table:
    """A table of the `shown` columns, a group's name above its first."""
    table = Table(
        box=box.HORIZONTALS, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style=STYLES["title"], border_style=STYLES["faint"],
    )  # fmt: skip
    groups = [group for group, _, _ in columns]
    for position, ((group, heading, kind), width) in enumerate(zip(columns, widths, strict=True)):
        above = f"{group if position == groups.index(group) else ''}\n" if any(groups) else ""
        justify: Literal["left", "right"] = "right" if kind == "right" else "left"
        table.add_column(_text(f"{above}{heading}"), justify=justify, no_wrap=kind != "label", min_width=width)
    for block in blocks:
        for row in block:
            table.add_row(*(_text(row[index]) for index in shown if index < len(row)))
        table.add_section()
    return table


def _text(cell: TableCell) -> Text:
    spans = [(cell, "")] if isinstance(cell, str) else cell
    return Text.assemble(*((text, STYLES[role]) for text, role in spans))
