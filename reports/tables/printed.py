"""Printed numbers of other groups as rows of a table: in italics, not ranked, part of no statistic.

A config names the sources (`printed`); a number stands where the table has its evaluation, label ratio and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmark.results.plan import Plan
from benchmark.results.printed.numbers import Printed, numbers, sources
from reports.tables.values import Block, Column, Line, Score

NOT_PRINTED = Score(None, None, 0, 0, ())


def printed_in(plan: Plan, evaluation: str, ratios: Sequence[float], columns: Sequence[Column]) -> list[Printed]:
    """The printed numbers of the plan's sources that a table has a place for."""
    asked = plan.config.get("printed", [])
    places = {(column.dataset, column.metric) for column in columns}
    return [
        own
        for own in numbers()
        if own.source in asked
        and own.evaluation == evaluation
        and own.ratio in ratios
        and (own.column, own.metric) in places
    ]


def with_printed(block: Block, found: Sequence[Printed], columns: Sequence[Column]) -> Block:
    """The block with a further line per row that was printed at its label ratio."""
    own = [one for one in found if one.ratio == block.ratio]
    rows = list(dict.fromkeys((one.source, one.row) for one in own))
    lines = [_line(row, [one for one in own if (one.source, one.row) == row], columns) for row in rows]
    return replace(block, lines=(*block.lines, *lines))


def _line(row: tuple[str, str], own: Sequence[Printed], columns: Sequence[Column]) -> Line:
    source, title = row
    at = {(one.column, one.metric): one for one in own}
    scores = tuple(_score(at.get((column.dataset, column.metric))) for column in columns)
    return Line(f"printed:{source}:{title}", f"{title} (printed: {source})", scores, gate=True)


def _score(found: Printed | None) -> Score:
    if found is None:
        return NOT_PRINTED
    spread = "" if found.std is None else f"±{found.std:.1f}"
    return Score(found.percent, found.std, 0, 0, (), spread=spread)


def printed_footers(found: Sequence[Printed]) -> Iterator[str]:
    """A line per source: what to cite, its protocol, what differs here."""
    for name in dict.fromkeys(one.source for one in found):
        own = sources()[name]
        yield f"Printed, not run here ({name}): {own.cite}. Protocol: {own.protocol}. Differs: {own.differs}."
