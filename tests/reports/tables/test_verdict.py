"""The sentences above a table: what is above and below the reference, the other pairs, and what is left open."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.results.plan import Plan
from reports.runs.run import open_run
from reports.statistics.differences import Difference, Differences
from reports.statistics.of_table import TableStatistics
from reports.tables.verdict import sentence, verdict

TITLES = {"random": "Random", "moco": "MoCo", "pmq": "PMQ", "byol": "BYOL", "etp": "ETP"}
PAIR = (
    "ratio", "metric", "first", "second", "difference", "low", "high", "p_holm", "patients_se", "seeds_se", "seeds",
    "detectable",
)  # fmt: skip


def found(*pairs: tuple[Any, ...]) -> TableStatistics:
    """Statistics of Overall with pairs (ratio, first, second, difference, p, seeds' error)."""
    lines = [
        (ratio, "overall", a, b, d, d - 0.01, d + 0.01, p, 0.005, error, 3, 0.02) for ratio, a, b, d, p, error in pairs
    ]
    scores = [
        {"ratio": ratio, "metric": "overall", "variant": name, "mean": 0.5} for ratio in (0.1,) for name in TITLES
    ]
    return TableStatistics(
        frames={"pairwise": pd.DataFrame(lines, columns=list(PAIR)), "intervals": pd.DataFrame(scores)}
    )


def test_a_sentence_groups_the_rows_by_what_is_significant() -> None:
    rows = (
        Difference("moco", 1.04, 0.2, 1.9, told=True),
        Difference("pmq", 3.1, 1.2, 5.0, told=True),
        Difference("byol", -2.0, -3.0, -1.0, told=True),
        Difference("etp", -0.04, math.nan, math.nan, told=False),
    )
    assert sentence(Differences(0.01, "random", rows), TITLES) == (
        "1 % of the labels: significantly above: PMQ +3.1 (1.2 to 5.0), MoCo +1.0 (0.2 to 1.9); significantly below: "
        "BYOL −2.0 (−3.0 to −1.0); not significantly different: ETP +0.0 (no interval)."
    )


@pytest.fixture
def plan(store_root: Path) -> Plan:
    return replace(open_run(store_root).plan, variants=TITLES)


def test_of_one_pretraining_the_differences_are_of_the_encoders(plan: Plan) -> None:
    first, *_ = verdict(plan, found((0.1, "random", "pmq", -0.02, 0.01, 0.001)))
    assert first == (
        "Overall minus that of Random in points, with 95 % intervals, not adjusted; significant: after Holm's "
        "correction over all pairs of rows. Differences of these encoders (one pretraining each), not of the methods."
    )


def test_with_a_pretraining_per_seed_the_differences_are_of_methods(plan: Plan) -> None:
    strict = replace(plan, config={**plan.config, "protocol": "strict"})
    first, *_ = verdict(strict, found((0.1, "random", "pmq", -0.02, 0.01, 0.001)))
    assert first.endswith("Differences of methods (3 pretrainings each).")


def test_the_other_pairs_are_grouped_by_the_row_above_and_the_shares_of_labels(plan: Plan) -> None:
    statistics = found(
        (0.3, "random", "pmq", -0.02, 0.01, 0.001),
        (0.3, "pmq", "moco", 0.03, 0.01, 0.001),
        (0.3, "byol", "pmq", -0.03, 0.01, 0.001),
        (0.3, "moco", "byol", 0.0, 0.9, 0.001),
        (0.1, "pmq", "moco", 0.03, 0.01, 0.001),
        (0.1, "byol", "pmq", -0.03, 0.01, 0.001),
    )
    assert (
        "Among the other rows: PMQ above MoCo, BYOL (30, 10 %); no significant difference in 1 of 3 pairs."
        in verdict(plan, statistics)
    )


@pytest.mark.parametrize(
    ("difference", "error", "words"),
    [
        (-0.019, 0.02, "PMQ above MoCo by 1.9 points at 10 % of the labels. It would take "),
        (-0.019, 0.001, "Enough for one comparison alone, not for all pairs (if it is true;"),
        (0.0001, 0.02, "Neither 100 seeds nor 100 times the test patients alone would show it (if it is true;"),
    ],
)
def test_the_largest_open_difference_comes_with_what_it_would_take(
    plan: Plan, difference: float, error: float, words: str
) -> None:
    *_, last = verdict(
        plan, found((0.1, "random", "pmq", 0.0, 0.9, error), (0.1, "moco", "pmq", difference, 0.2, error))
    )
    assert last.startswith("Largest difference that is not significant: ")
    assert words in last


def test_of_changes_the_sentences_are_of_the_method_as_it_is(plan: Plan) -> None:
    first, *_ = verdict(plan, found((0.1, "moco", "pmq", -0.02, 0.01, 0.001)), unchanged="pmq")
    assert first.startswith("Overall minus that of PMQ in points")


def test_without_two_rows_there_is_nothing_to_say(plan: Plan) -> None:
    assert list(verdict(plan, None)) == list(verdict(plan, TableStatistics())) == []


def test_rows_on_a_further_encoder_have_a_sentence_of_their_own(plan: Plan) -> None:
    further = {"random+s4": "Random (s4)", "pmq+s4": "PMQ (s4)"}
    statistics = found((0.1, "random", "pmq", -0.02, 0.01, 0.001), (0.1, "pmq+s4", "random+s4", 0.04, 0.2, 0.001))
    scores = [{"ratio": 0.1, "metric": "overall", "variant": name, "mean": 0.5} for name in (*TITLES, *further)]
    statistics = replace(statistics, frames={**statistics.frames, "intervals": pd.DataFrame(scores)})
    _, first, second, *_ = verdict(replace(plan, variants={**TITLES, **further}), statistics)
    assert first.startswith("10 % of the labels: significantly above: PMQ +2.0")
    assert second == ("From Random (s4), 10 % of the labels: not significantly different: PMQ (s4) +4.0 (3.0 to 5.0).")
