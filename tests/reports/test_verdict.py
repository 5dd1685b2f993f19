"""A verdict says which rows beat an untrained encoder, where, and what does not follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from benchmark.results.store import Plan, PlannedCell
from reports.layouts import Layout, layouts
from reports.results import Run
from reports.verdict import verdict
from tests.reports.conftest import CONFIG

READER = {"role": "method", "of": "", "hyperparameter": "", "value": None, "reads_reports": True}


def results_of(protocol: str = "strict", *ratios: float, seeds: int = 5, subsets: int = 1) -> tuple[Run, Layout]:
    places = product(ratios or (0.3, 0.01), range(41, 41 + seeds), range(subsets))
    cells = [PlannedCell("0" * 16, "pmq", "finetune", "ptb-xl", *place) for place in places]
    plan = Plan(
        key="0" * 16,
        config=CONFIG | {"protocol": protocol},
        variants={"random": "Random", "pmq": "PMQ", "moco": "MoCo", "etp": "ETP", "features": "Features"},
        datasets={"ptb-xl": {"title": "PTB-XL", "simulated": False}},
        pretraining={"simulated": False},
        roles={"etp": READER},
        cells=cells,
    )
    (layout,) = layouts(plan, "finetune")
    return Run("runs", plan, {}, {}, {}, ()), layout


def differences(lines: list[tuple[float, str, float, str]], seeds: int = 5) -> pd.DataFrame:
    """(ratio, row, points above Random, 'beyond', 'significant', 'equivalent' or '') with intervals of ± 2 points."""
    return pd.DataFrame(
        [
            {
                "ratio": ratio, "reference": "random", "variant": variant, "difference": points / 100,
                "low_holm": points / 100 - 0.02, "high_holm": points / 100 + 0.02, "seeds": seeds,
                "significant": what in ("significant", "beyond"), "equivalent": what == "equivalent",
                "beyond": what == "beyond",
            }
            for ratio, variant, points, what in lines
        ]
    )  # fmt: skip


BETTER = "Better than the untrained encoder (Random) in mean AUROC, by more than 1 point"
NO_BASELINE = pd.DataFrame(columns=["ratio", "variant", "above", "below"])


def test_a_verdict_names_first_the_rows_that_beat_the_untrained_encoder_and_where() -> None:
    lines = [
        (0.3, "pmq", 4.0, "significant"), (0.3, "moco", -3.0, "significant"), (0.3, "etp", 9.0, "beyond"),
        (0.01, "pmq", 1.0, ""), (0.01, "moco", 0.1, "equivalent"), (0.01, "etp", 8.0, "beyond"),
    ]  # fmt: skip
    answer, limits, first, _ = verdict(*results_of(), differences(lines), NO_BASELINE, 0.123)
    assert answer.splitlines() == [
        f"{BETTER}: ETP (reads reports) at both label shares.",
        "Better, not shown to be by more than 1 point: PMQ at 30 %.",
        "Within 1 point of it: MoCo at 1 %.",
        "Not separable from it: PMQ at 1 %.",
        "Worse: MoCo at 30 %.",
    ]
    detects = "which detect a difference of 12.3 points"
    assert limits == (
        f"5 seeds with 1 labelled subset each; test patients: , {detects}; baselines: none. Not separable does not "
        "mean equal."
    )
    assert first == (
        "30 % of the labels, mean AUROC minus that of Random in points: higher: ETP (reads reports) +9.0 "
        "(7.0 to 11.0), PMQ +4.0 (2.0 to 6.0); lower: MoCo −3.0 (−5.0 to −1.0)."
    )
    none, *_ = verdict(*results_of("strict", 0.3), differences([(0.3, "pmq", 4.0, "")]), NO_BASELINE)
    assert none.splitlines() == [
        f"{BETTER}: no row.",
        "Not separable from it: PMQ with 30 % of the labels.",
    ]
    assert verdict(*results_of(), pd.DataFrame(), NO_BASELINE) == []


@pytest.mark.parametrize(("protocol", "seeds"), [("paper", 8), ("strict", 1)])
def test_networks_of_one_pretraining_are_no_methods(protocol: str, seeds: int) -> None:
    """Untrained encoders differ from seed to seed under `paper` too; that counts as no pretraining."""
    lines = differences([(0.3, "pmq", 4.0, "significant")], seeds=seeds)
    _, limits, *_ = verdict(*results_of(protocol, seeds=seeds), lines, NO_BASELINE)
    assert "row is one pretraining; that one method is better than another does not follow." in limits


def test_the_second_sentence_says_which_rows_are_above_every_baseline_or_below_one() -> None:
    lines = differences([(0.3, "pmq", 4.0, "beyond"), (0.01, "pmq", 4.0, "beyond")])
    claims = pd.DataFrame(
        [
            (0.3, "pmq", True, ()),
            (0.3, "moco", False, ("features",)),
            (0.01, "pmq", False, ()),
            (0.01, "moco", False, ()),
        ],
        columns=NO_BASELINE.columns,
    )
    answer, *_ = verdict(*results_of(), lines, claims)
    assert answer.splitlines()[1:] == [
        "Above every baseline without pretraining: PMQ at 30 %.",
        "Below one of them: MoCo at 30 %.",
    ]


def test_a_verdict_names_the_baselines_that_were_there() -> None:
    results, layout = results_of()
    there = replace(layout, variants=("pmq", "random"), baselines=frozenset({"random"}))
    _, limits, *_ = verdict(results, there, differences([(0.3, "pmq", 4.0, "")]), NO_BASELINE)
    assert limits.startswith("5 seeds with 1 labelled subset each; test patients: ; baselines: Random.")


def test_a_verdict_counts_the_labelled_subsets_that_the_seeds_of_paper_share() -> None:
    lines = differences([(0.3, "pmq", 4.0, "")])
    for subsets, counted in ((1, "5 seeds on 1 labelled subset"), (4, "5 seeds on 4 labelled subsets")):
        _, limits, *_ = verdict(*results_of("paper", subsets=subsets), lines, NO_BASELINE)
        assert limits.startswith(f"{counted}; ")
        assert limits.endswith("On another labelled subset a difference may be another.") == (subsets == 1)
