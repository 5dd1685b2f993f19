"""The paired differences of a table's rows as square matrices, one per column and label ratio.

Above the diagonal: row minus column, in points. Below it, at the mirrored place: the Holm-adjusted p value of the pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from reports.statistics.interval import LEVEL
from reports.tables.values import Column, Table

LEAST_P = 0.001
"""Smaller p values are printed as '<0.001'."""


@dataclass(frozen=True)
class Square:
    """One place of a matrix."""

    text: str = ""
    kind: str = ""
    """'ahead' or 'behind' for a significant difference, 'told' for its p, 'same' on the diagonal, else ''."""
    hint: str = ""
    """Interval of the difference."""


@dataclass(frozen=True)
class Matrix:
    """All pairs of one column at one label ratio."""

    title: str
    overall: bool
    rows: tuple[str, ...]
    """Titles; the columns are the same rows by number."""
    squares: tuple[tuple[Square, ...], ...]


def matrices(table: Table, pairs: pd.DataFrame) -> Iterator[Matrix]:
    """The matrices of a table, by ratio, Overall first; `pairs` is the table's frame of `pairwise`.

    A ratio's matrices have only the rows planned at it.
    """
    for block in table.blocks:
        titles = {line.variant: line.title for line in block.lines}
        for column in (table.columns[-1], *table.columns[:-1]):
            own = pairs[
                (pairs["ratio"] == block.ratio)
                & (pairs["dataset"] == column.dataset)
                & (pairs["metric"] == column.metric)
                & pairs["first"].isin(list(titles))
                & pairs["second"].isin(list(titles))
            ]
            if len(own):
                yield _matrix(f"{_name(column)}, {block.title}", not column.dataset, own, titles)


def _name(column: Column) -> str:
    return f"{column.group} {column.title}".strip()


def _matrix(title: str, overall: bool, pairs: pd.DataFrame, titles: dict[str, str]) -> Matrix:
    variants = list(dict.fromkeys([*pairs["first"], *pairs["second"]]))
    places = {name: place for place, name in enumerate(variants)}
    squares = [[Square(kind="same") if row == column else Square() for column in variants] for row in variants]
    for pair in pairs.to_dict("records"):
        first, second = places[pair["first"]], places[pair["second"]]
        squares[first][second], squares[second][first] = _squares(
            pair["difference"], pair["low"], pair["high"], pair["p_holm"]
        )
    return Matrix(title, overall, tuple(titles[name] for name in variants), tuple(map(tuple, squares)))


def _squares(difference: float, low: float, high: float, p: float) -> tuple[Square, Square]:
    """The squares of a difference and of its p value; a dash where undefined."""
    if pd.isna(difference):
        return Square("–", hint="the two have no seed in common"), Square("–")
    told = bool(p < LEVEL)
    kind = ("ahead" if difference > 0 else "behind") if told else ""
    interval = "no interval" if pd.isna(low) else f"{_points(low)} to {_points(high)} at {100 * (1 - LEVEL):g} %"
    return Square(_points(difference), kind, interval), Square(_p_text(p), "told" if told else "")


def _points(value: float) -> str:
    """Points with sign, zero without: '+1.2', '−0.3', '0.0'."""
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def _p_text(p: float) -> str:
    if pd.isna(p):
        return "–"
    return f"<{LEAST_P}" if p < LEAST_P else f"{p:.3f}" if p < 2 * LEVEL else f"{p:.2f}"
