"""Terminal output: notes, errors, progress and tables. The one owner of rich.

Notes and errors on the terminal; plain lines without escape codes elsewhere. `NO_COLOR` is honoured.

Tables and paragraphs fitted to the terminal's width, drawn by rich; numbers are never wrapped or cut.

Columns that do not fit move to further tables below, by whole groups (datasets) where possible; labels are repeated.
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console as Console  # callers name the type without knowing rich
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
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
"""Least seconds between two plain lines about the progress of a step."""


WIDTH_OF_BARS = 72
SPEED_SECONDS = 3600.0
"""Over which the time left is taken from what was done: cells take minutes."""


@contextmanager
def step(console: Console, what: str, shown: Callable[[int], str] = str) -> Iterator[Callable[[int, int], None]]:
    """Progress of one step before the grid: call the result with (done, total). Silent if never called.

    `shown` writes a number: of pieces, or of bytes. The total may change between calls. The time left is of the rate
    since the first piece, which waits for processes to start.
    """
    bar = open_bars(console) if console.is_terminal and not console.is_dumb_terminal else None
    started = spoke = time.monotonic()
    task: TaskID | None = None
    first: tuple[int, float] | None = None

    def progress(done: int, total: int) -> None:
        nonlocal task, spoke, first
        now = time.monotonic()
        words = f"{shown(done)} of {shown(total)}" if done else ""
        if first and done > first[0] and not bar:
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


def open_bars(console: Console) -> Progress:
    """Bars that are not started, each with a `text`, cut rather than wrapped; nothing is drawn without a terminal."""
    columns: list[ProgressColumn] = [_cut_text("{task.description}"), _cut_text("{task.fields[text]}")]
    if console.width >= WIDTH_OF_BARS:
        columns.insert(1, BarColumn(bar_width=16))
        columns.append(TimeRemainingColumn())
    hidden = not console.is_terminal or console.is_dumb_terminal
    return Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=SPEED_SECONDS)


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
