"""The verdict: one sentence for all, what is significant at each label ratio, and what is left open."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.results.store import Plan
from reports.load import load
from reports.statistics.table import Difference, Differences, TableStatistics
from reports.tables.verdict import headline, sentence, verdict

TITLES = {"random": "Random", "moco": "MoCo", "pmq": "PMQ", "byol": "BYOL", "etp": "ETP", "clocs": "CLOCS"}
PAIR = (
    "ratio", "metric", "first", "second", "difference", "low", "high", "p_holm", "patients_se", "seeds_se", "freedom",
    "seeds", "detectable", "p_equivalent",
)  # fmt: skip


def found(*pairs: tuple[Any, ...]) -> TableStatistics:
    """Statistics of Overall with pairs (ratio, first, second, difference, p, seeds' error)."""
    lines = [
        (ratio, "overall", a, b, d, d - 0.01, d + 0.01, p, 0.005, error, 2, 3, 0.02, 0.5)
        for ratio, a, b, d, p, error in pairs
    ]
    scores = [
        {"ratio": ratio, "metric": "overall", "variant": name, "mean": 0.5} for ratio in (0.1,) for name in TITLES
    ]
    return TableStatistics(
        frames={"pairwise": pd.DataFrame(lines, columns=list(PAIR)), "intervals": pd.DataFrame(scores)}
    )


ROWS = (
    Difference("moco", 1.04, 0.2, 1.9, told=True),
    Difference("pmq", 3.1, 1.2, 5.0, told=True),
    Difference("byol", -2.0, -3.0, -1.0, told=True),
    Difference("clocs", 0.5, -0.4, 1.4, told=False, equivalent=True),
    Difference("etp", -0.04, math.nan, math.nan, told=False),
)


def test_a_sentence_groups_the_rows_by_what_is_significant() -> None:
    found = Differences(0.01, "random", ROWS)
    assert sentence(found, TITLES) == (
        "1 % of the labels: significantly above: PMQ +3.1 (1.2 to 5.0), MoCo +1.0 (0.2 to 1.9); significantly below: "
        "BYOL −2.0 (−3.0 to −1.0); equivalent within 2 points: "
        "CLOCS +0.5 (−0.4 to 1.4); not significantly different: ETP +0.0 (interval not estimable)."
    )


def told(ratio: float, above: str = "", below: str = "", open_: str = "", alike: str = "") -> Differences:
    """Differences from Random: of rows significantly above and below it, of others, and of equivalent ones."""
    sides = {**dict.fromkeys(above.split(), 3.0), **dict.fromkeys(below.split(), -3.0)}
    means = sides | dict.fromkeys([*open_.split(), *alike.split()], 1.0)
    rows = tuple(
        Difference(name, mean, 0.0, 4.0, told=name in sides, equivalent=name in alike.split())
        for name, mean in means.items()
    )
    return Differences(ratio, "random", rows)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            [told(0.1, "etp pmq", "", "byol"), told(0.01, "etp", "byol", "pmq")],
            "only ETP beats Random at both label shares; PMQ does at 10 %; BYOL falls behind Random at 1 %.",
        ),
        ([told(0.1, "etp pmq moco")], "every row beats Random at 10 % of the labels."),
        ([told(0.1, "etp pmq", "", "moco")], "ETP and PMQ beat Random at 10 % of the labels."),
        ([told(0.1, "", "etp pmq", "moco")], "ETP and PMQ fall behind Random at 10 % of the labels."),
        (
            [told(0.1, "etp", alike="moco"), told(0.01, open_="moco etp")],
            "only ETP beats Random at 10 %; MoCo is within 2 points of Random at 10 %.",
        ),
        ([told(0.1, open_="etp"), told(0.01, open_="etp")], "no row differs significantly from Random at both label "),
    ],
)
def test_a_verdict_begins_with_one_sentence_for_all_label_ratios(found: list[Differences], said: str) -> None:
    assert headline(found, TITLES, 1).startswith(f"With one pretraining each, {said}")


@pytest.fixture
def plan(store_root: Path) -> Plan:
    return replace(load(store_root).plan, variants=TITLES)


OTHERS = (
    (0.3, "random", "pmq", -0.02, 0.01, 0.001),
    (0.3, "pmq", "moco", 0.03, 0.01, 0.001),
    (0.3, "byol", "pmq", -0.03, 0.01, 0.001),
    (0.3, "moco", "byol", 0.0, 0.9, 0.001),
    (0.1, "pmq", "moco", 0.03, 0.01, 0.001),
    (0.1, "byol", "pmq", -0.03, 0.01, 0.001),
)


def test_a_verdict_is_of_encoders_or_of_methods_and_names_the_other_pairs(plan: Plan) -> None:
    statistics, strict = found(*OTHERS), replace(plan, config={**plan.config, "protocol": "strict"})
    whole, first, *others = verdict(plan, statistics)
    assert whole == "With one pretraining each, PMQ beats Random at 30 % of the labels."
    assert first == (
        "Overall minus that of Random in points, with 95 % intervals, not adjusted; significant: after Holm's "
        "correction over all pairs of rows. Differences of these encoders (one pretraining each), not of the methods."
    )
    assert "Among the other rows: PMQ above MoCo, BYOL (30, 10 %). No significant difference in 1 of 3 pairs." in others
    whole, first, *_ = verdict(strict, statistics)
    assert whole == "With 3 pretrainings each, PMQ beats Random at 30 % of the labels."
    assert first.endswith("Differences of methods (3 pretrainings each).")
    _, first, *_ = verdict(plan, found((0.1, "moco", "pmq", -0.02, 0.01, 0.001)), unchanged="pmq")
    assert first.startswith("Overall minus that of PMQ in points")
    assert list(verdict(plan, None)) == list(verdict(plan, TableStatistics())) == []


def test_equivalent_pairs_are_named_among_the_other_rows(plan: Plan) -> None:
    statistics = found(*OTHERS)
    pairs = statistics.frames["pairwise"]
    pairs.loc[(pairs["first"] == "moco") & (pairs["second"] == "byol"), "p_equivalent"] = 0.01
    others = [line for line in verdict(plan, statistics) if line.startswith("Among")]
    assert "Equivalent within 2 points: BYOL to MoCo (30 %). No significant difference in 1 of 3 pairs." in others[0]


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


def test_rows_on_a_further_encoder_have_a_sentence_of_their_own(plan: Plan) -> None:
    further = {"random+s4": "Random (s4)", "pmq+s4": "PMQ (s4)"}
    statistics = found((0.1, "random", "pmq", -0.02, 0.01, 0.001), (0.1, "pmq+s4", "random+s4", 0.04, 0.2, 0.001))
    scores = [{"ratio": 0.1, "metric": "overall", "variant": name, "mean": 0.5} for name in (*TITLES, *further)]
    statistics = replace(statistics, frames={**statistics.frames, "intervals": pd.DataFrame(scores)})
    _, _, first, second, *_ = verdict(replace(plan, variants={**TITLES, **further}), statistics)
    assert first.startswith("10 % of the labels: significantly above: PMQ +2.0")
    assert second == ("From Random (s4), 10 % of the labels: not significantly different: PMQ (s4) +4.0 (3.0 to 5.0).")
