"""Matrices of paired differences: where each pair stands, and how it is printed."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from reports.html.intervals import interval_texts
from reports.html.matrices import Square, matrices
from reports.statistics.of_table import TableStatistics
from reports.tables.values import Block, Column, Line, Table

PLACE = {"ratio": 0.1, "dataset": "", "metric": "overall"}


def pair(first: str, second: str, difference: float, p: float, **more: Any) -> dict[str, Any]:
    return PLACE | {"first": first, "second": second, "difference": difference, "p_holm": p} | {
        "low": difference - 0.01, "high": difference + 0.01,
    } | more  # fmt: skip


@pytest.fixture
def table() -> Table:
    lines = tuple(Line(name, name.upper(), ()) for name in ("a", "b", "c", "gate"))
    columns = (Column("x", "f1", "X", "F1"), Column("", "overall", "", "Overall"))
    return Table("t", "finetune", "heartbeat", "T", "", columns, (Block(0.1, "10 % of the labels", lines),), (), ())


def test_each_pair_stands_above_and_below_the_diagonal(table: Table) -> None:
    pairs = [pair("a", "b", -0.0312, 0.0004), pair("a", "c", 0.02, 0.0499), pair("b", "c", 0.0001, 1.0)]
    (matrix,) = matrices(table, pd.DataFrame(pairs))
    assert (matrix.title, matrix.overall, matrix.rows) == ("Overall, 10 % of the labels", True, ("A", "B", "C"))
    same = Square(kind="same")
    assert matrix.squares == (
        (same, Square("−3.1", "behind", "−4.1 to −2.1 at 95 %"), Square("+2.0", "ahead", "+1.0 to +3.0 at 95 %")),
        (Square("<0.001", "told"), same, Square("0.0", "", "−1.0 to +1.0 at 95 %")),
        (Square("0.050", "told"), Square("1.00"), same),
    )


def test_a_pair_without_a_difference_is_a_dash(table: Table) -> None:
    nan = float("nan")
    pairs = [pair("a", "b", nan, nan), pair("a", "c", 0.02, nan, low=nan, high=nan)]
    (matrix,) = matrices(table, pd.DataFrame(pairs))
    assert [square.text for square in matrix.squares[0]] == ["", "–", "+2.0"]
    assert [square.kind for square in matrix.squares[0]] == ["same", "", ""]
    assert matrix.squares[0][2].hint == "no interval"
    assert [row[0].text for row in matrix.squares[1:]] == ["–", "–"]


def test_a_row_that_was_not_planned_at_a_ratio_is_left_out(table: Table) -> None:
    pairs = [pair("a", "b", 0.02, 0.5), pair("a", "elsewhere", float("nan"), float("nan"))]
    (matrix,) = matrices(table, pd.DataFrame(pairs))
    assert matrix.rows == ("A", "B")


def test_overall_stands_before_the_other_columns(table: Table) -> None:
    pairs = [pair("a", "b", 0.1, 0.5, dataset="x", metric="f1"), pair("a", "b", 0.1, 0.5)]
    assert [matrix.title for matrix in matrices(table, pd.DataFrame(pairs))] == [
        "Overall, 10 % of the labels",
        "X F1, 10 % of the labels",
    ]


def test_intervals_are_told_where_they_are_known() -> None:
    lines = [PLACE | {"variant": "a", "low": 0.549, "high": 0.572}, PLACE | {"variant": "b", "low": float("nan")}]
    statistics = TableStatistics(frames={"intervals": pd.DataFrame(lines)})
    assert interval_texts(statistics) == {(0.1, "", "overall", "a"): "54.9 to 57.2 at 95 %"}
    assert interval_texts(None) == interval_texts(TableStatistics()) == {}
