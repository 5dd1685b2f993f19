"""A table as lines of a terminal of a given width: spans of text with a role, which the console turns into colours.

Where the width does not hold all columns, groups of them (datasets) stand below each other; no line is ever broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from reports.tables.table import Line, Score, Table

Span = tuple[str, str]
"""Text and its role: 'title', 'block', 'best', 'gate', 'faint', or '' for plain text."""
GAP = 2
SHORTEST_LABEL = 8
SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


@dataclass(frozen=True)
class _Widths:
    """Characters of the label, and of each column's number (right-aligned) and tail (what follows the number)."""

    label: int
    numbers: Sequence[int]
    tails: Sequence[int]

    def of(self, columns: Sequence[int]) -> int:
        """Of some columns with the gap before each."""
        return sum(GAP + self.numbers[index] + self.tails[index] for index in columns)


def terminal_lines(table: Table, width: int, *, starred: bool = False) -> Iterator[list[Span]]:
    """Title, caption, blocks, footnotes and footers, each line at most `width` characters (40 or more).

    `starred` marks the best numbers with a star, for output that cannot show them in bold.
    """
    yield []
    yield [(table.title, "title")]
    yield from _prose(table.caption, width)
    if starred:
        gates = any(line.gate for block in table.blocks for line in block.lines)
        yield from _prose(
            "Without bold and italics here: the best of a block carries a star, gates stand in brackets."
            if gates
            else "Without bold here: the best of a block carries a star.",
            width,
        )
        table = with_stars(table)
    widths = _widths(table, width)
    for columns in _side_by_side(table, widths, width):
        yield []
        yield from _header(table, columns, widths)
        for block in table.blocks:
            yield [("─" * (widths.label + widths.of(columns)), "faint")]
            yield [(block.title, "block")]
            yield from (_scores(line, columns, widths) for line in block.lines)
    yield []
    for mark, text in table.footnotes:
        yield from _prose(f"{mark.translate(SUPERSCRIPTS)} {text}", width)
    for footer in table.footers:
        yield from _prose(footer, width)


def with_stars(table: Table) -> Table:
    """The table with a star behind the spread of each best number, and the titles of gates in brackets."""
    blocks = tuple(
        replace(
            block,
            lines=tuple(
                replace(
                    line,
                    title=f"({line.title})" if line.gate else line.title,
                    scores=tuple(replace(s, spread=f"{s.spread}*") if s.best else s for s in line.scores),
                )
                for line in block.lines
            ),
        )
        for block in table.blocks
    )
    return replace(table, blocks=blocks)


def _prose(text: str, width: int) -> Iterator[list[Span]]:
    for line in textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False):
        yield [(line, "faint")]


def _tail(score: Score) -> str:
    return score.spread + ("≈" if score.tie else "") + score.mark.translate(SUPERSCRIPTS)


def _widths(table: Table, width: int) -> _Widths:
    """As the longest text of each column wants it; the label gives way where a terminal is very narrow."""
    lines = [line for block in table.blocks for line in block.lines]
    numbers, tails = [], []
    for index, column in enumerate(table.columns):
        scores = [line.scores[index] for line in lines]
        tails.append(max(len(_tail(score)) for score in scores))
        alone = sum(other.group == column.group for other in table.columns) == 1
        heading = max(len(column.title), len(column.group) if alone else 0)  # a group's name stands above all of it
        numbers.append(max(heading - tails[-1], *(len(score.printed) for score in scores)))
    widest = max(number + tail for number, tail in zip(numbers, tails, strict=True))
    label = max(len("Method"), *(len(line.title) for line in lines))
    return _Widths(min(label, max(SHORTEST_LABEL, width - widest - GAP)), numbers, tails)


def _side_by_side(table: Table, widths: _Widths, width: int) -> Iterator[list[int]]:
    """Columns that stand beside each other: whole groups while they fit, single columns where one group does not."""
    room = width - widths.label
    shown: list[int] = []
    for _, members in groupby(range(len(table.columns)), key=lambda index: table.columns[index].group):
        group = list(members)
        for part in [group] if widths.of(group) <= room else [[index] for index in group]:
            if shown and widths.of([*shown, *part]) > room:
                yield shown
                shown = []
            shown = [*shown, *part]
    yield shown


def _header(table: Table, columns: Sequence[int], widths: _Widths) -> Iterator[list[Span]]:
    """Each group above its metrics, then the metrics."""
    groups = [(" " * widths.label, "")]
    for group, members in groupby(columns, key=lambda index: table.columns[index].group):
        room = widths.of(list(members)) - GAP
        name = f" {group} " if group else ""
        ruled = name.center(room, "─" if group else " ") if len(name) <= room else group[:room].ljust(room)
        groups.append((" " * GAP + ruled, "title"))
    yield groups
    titles = (" " * GAP + table.columns[index].title.center(widths.of([index]) - GAP) for index in columns)
    yield [("Method".ljust(widths.label), "title"), ("".join(titles), "title")]


def _scores(line: Line, columns: Sequence[int], widths: _Widths) -> list[Span]:
    title = line.title if len(line.title) <= widths.label else f"{line.title[: widths.label - 1]}…"
    spans = [(title.ljust(widths.label), "gate" if line.gate else "")]
    for index in columns:
        score = line.scores[index]
        spans += [
            (" " * (GAP + widths.numbers[index] - len(score.printed)), ""),
            (score.printed, "best" if score.best else ""),
            (_tail(score).ljust(widths.tails[index]), "faint"),
        ]
    return spans
