"""Tables and paragraphs fitted to the terminal's width, drawn by rich; numbers are never wrapped or cut.

Columns that do not fit move to further tables below, by whole groups (datasets) where possible; labels are repeated.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from benchmark.screen.console import STYLES, note
from benchmark.screen.harmless import harmless

Span = tuple[str, str]
"""Text and its role in `STYLES`."""
Cell = str | Sequence[Span]
Row = Sequence[Cell]
"""One cell per column, or fewer: a block's title is a row of one cell."""
Column = tuple[str, str, str]
"""Group ('' for none), heading, and kind: 'label' (in every table, wraps), 'left' or 'right' (aligned, whole)."""
LABEL_SHARE = 4
"""A label keeps at least 1 / LABEL_SHARE of the width; columns that then do not fit move to a table below."""


def print_sheet(
    console: Console,
    above: Iterable[Span],
    columns: Sequence[Column],
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
            console.print(Text(harmless(line), STYLES[role]), no_wrap=True)


def print_prose(console: Console, lines: Iterable[str]) -> None:
    """Print lines of words: broken between words on a terminal, whole elsewhere, where they are searched."""
    for line in lines:
        if console.is_terminal:
            print_paragraphs(console, [(line, "")])
        else:
            note(console, line)


def print_table(console: Console, columns: Sequence[Column], blocks: Sequence[Sequence[Row]]) -> None:
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


def _side_by_side(columns: Sequence[Column], fits: Callable[[list[int]], bool]) -> Iterator[list[int]]:
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


def _table(columns: Sequence[Column], blocks: Sequence[Sequence[Row]], least: int, shown: Sequence[int]) -> Table:
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
    return Text.assemble(*((harmless(text), STYLES[role]) for text, role in spans))
