"""Differences from the reference row: which row that is, and the sign and interval of each."""

from __future__ import annotations

import pandas as pd

from reports.statistics.differences import FIGURE, Difference, differences, in_one_panel
from reports.statistics.of_table import TableStatistics

PAIR = ("ratio", "metric", "first", "second", "difference", "low", "high", "p_holm", "repeat")
SCORE = ("ratio", "metric", "variant", "mean")


def statistics(pairs: list[tuple[object, ...]], scores: list[tuple[object, ...]]) -> TableStatistics:
    frames = {
        "pairwise": pd.DataFrame([(*pair, 0.7) for pair in pairs], columns=list(PAIR)),
        "intervals": pd.DataFrame(scores, columns=list(SCORE)),
    }
    return TableStatistics(frames=frames)


def test_each_row_is_held_against_the_untrained_encoder_whatever_its_place_in_the_pair() -> None:
    found = statistics(
        [
            (0.3, "overall", "random", "pmq", -0.02, -0.03, -0.01, 0.01),
            (0.3, "overall", "moco", "random", 0.01, -0.01, 0.03, 0.4),
            (0.3, "overall", "moco", "pmq", -0.01, -0.02, 0.0, 0.3),
            (0.3, "f1", "random", "pmq", -0.5, -0.6, -0.4, 0.01),
            (0.1, "overall", "random", "pmq", float("nan"), float("nan"), float("nan"), float("nan")),
        ],
        [(0.3, "overall", name, score) for name, score in (("random", 0.5), ("pmq", 0.52), ("moco", 0.51))],
    )
    (own,) = differences(found)
    assert (own.ratio, own.reference) == (0.3, "random")
    assert own.rows == (
        Difference("pmq", 2.0, 1.0, 3.0, told=True, repeat=0.7),
        Difference("moco", 1.0, -1.0, 3.0, told=False, repeat=0.7),
    )


def test_without_an_untrained_encoder_the_best_row_over_all_ratios_is_the_reference() -> None:
    ratios = (0.3, 0.1)
    found = statistics(
        [(ratio, "overall", "moco", "pmq", 0.01, 0.0, 0.02, 0.2) for ratio in ratios],
        [(ratio, "overall", name, score) for ratio in ratios for name, score in (("moco", 0.5), ("pmq", 0.49))],
    )
    assert [(own.ratio, own.reference, own.rows[0].variant, own.rows[0].mean) for own in differences(found)] == [
        (0.3, "moco", "pmq", -1.0),
        (0.1, "moco", "pmq", -1.0),
    ]


def test_a_row_of_more_ratios_is_no_better_for_it() -> None:
    scores = [(0.3, "overall", "moco", 0.5), (0.1, "overall", "moco", 0.5), (0.3, "overall", "pmq", 0.6)]
    pairs: list[tuple[object, ...]] = [(0.3, "overall", "pmq", "moco", 0.1, 0.0, 0.2, 0.01)]
    assert [own.reference for own in differences(statistics(pairs, list(scores)))] == ["pmq"]


def test_of_equally_good_rows_the_first_is_the_reference() -> None:
    pairs: list[tuple[object, ...]] = [(0.3, "overall", "pmq", "moco", 0.0, -0.01, 0.01, 0.9)]
    found = statistics(pairs, [(0.3, "overall", name, 0.5) for name in ("pmq", "moco")])
    assert [own.reference for own in differences(found)] == ["pmq"]


def test_changes_of_a_method_are_held_against_the_method_as_it_is() -> None:
    found = statistics(
        [(0.1, "overall", "pmq:w/o queue", "pmq", -0.03, -0.04, -0.02, 0.01)],
        [(0.1, "overall", name, score) for name, score in (("pmq:w/o queue", 0.6), ("pmq", 0.5))],
    )
    assert [(own.reference, own.rows[0].mean) for own in differences(found, "pmq")] == [("pmq", -3.0)]
    assert [own.reference for own in differences(found, "moco")] == ["pmq:w/o queue"], "the method has no score"


def test_nothing_tested_is_no_difference() -> None:
    assert differences(None) == differences(TableStatistics()) == []
    assert differences(statistics([], [(0.3, "overall", "pmq", 0.5)])) == []


def test_the_figure_keeps_its_name() -> None:
    """Pages and scripts of users find its file by it."""
    assert FIGURE == "differences-in-overall"


def test_a_row_on_a_further_encoder_is_held_against_the_untrained_one_of_its_kind() -> None:
    names = ("random", "pmq", "random+s4", "pmq+s4", "pmq+vit1d")
    found = statistics(
        [
            (0.3, "overall", "random", "pmq", -0.02, -0.03, -0.01, 0.01),
            (0.3, "overall", "random", "random+s4", -0.2, -0.3, -0.1, 0.01),
            (0.3, "overall", "random", "pmq+s4", -0.25, -0.3, -0.2, 0.01),
            (0.3, "overall", "pmq+s4", "random+s4", 0.05, 0.04, 0.06, 0.2),
            (0.3, "overall", "random", "pmq+vit1d", 0.1, 0.0, 0.2, 0.3),
        ],
        [(0.3, "overall", name, 0.5) for name in names],
    )
    first, second = differences(found)
    assert (first.reference, [row.variant for row in first.rows]) == ("random", ["pmq", "pmq+vit1d"])
    assert (second.reference, second.rows) == (
        "random+s4",
        (Difference("pmq+s4", 5.0, 4.0, 6.0, told=False, repeat=0.7),),
    )
    (panel,) = in_one_panel([first, second])
    assert (panel.reference, panel.rows) == ("random", (*first.rows, *second.rows))
