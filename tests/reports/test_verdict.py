"""A verdict says which rows beat an untrained encoder, where, and what does not follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from benchmark.results.names import OVERALL
from benchmark.results.store import Plan, PlannedCell
from reports.inference import INTERVALS, PAIRS, TableStatistics
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


def statistics(
    lines: list[tuple[float, str, float, str]], among: Sequence[tuple[float, str, str, str]] = ()
) -> TableStatistics:
    """Pairs of the headline, with intervals of ± 2 points, and the means of their rows.

    lines: (ratio, row, points above Random, 'beyond', 'significant', 'equivalent' or ''). among: (ratio, method, lower
    method, the same word).
    """
    pairs = []
    for ratio, first, second, points, what in [
        *((ratio, row, "random", points, what) for ratio, row, points, what in lines),
        *((ratio, row, lower, 1.0, what) for ratio, row, lower, what in among),
    ]:
        pairs.append(
            {
                "ratio": ratio, "first": first, "second": second, "metric": OVERALL, "difference": points / 100,
                "low_holm": points / 100 - 0.02, "high_holm": points / 100 + 0.02, "detectable": 0.123,
                "p_holm": 0.01 if what in ("significant", "beyond") else 0.5,
                "p_beyond": 0.01 if what == "beyond" else 0.5, "p_equivalent": 0.01 if what == "equivalent" else 0.5,
            }
        )  # fmt: skip
    means = [(ratio, row, 0.5 + points / 100) for ratio, row, points, _ in lines]
    means += [(ratio, "random", 0.5) for ratio in {line[0] for line in lines}]
    intervals = pd.DataFrame(means, columns=["ratio", "variant", "mean"]).assign(metric=OVERALL)
    return TableStatistics(intervals.reindex(columns=INTERVALS), pd.DataFrame(pairs).reindex(columns=PAIRS))


BETTER = "Better than the untrained encoder (Random) in mean AUROC by more than 1 point"


def test_a_sentence_says_which_rows_beat_the_untrained_encoder() -> None:
    lines = [
        (0.3, "pmq", 4.0, "significant"), (0.3, "moco", -3.0, "significant"), (0.3, "etp", 9.0, "beyond"),
        (0.01, "pmq", 1.0, ""), (0.01, "moco", 0.1, "equivalent"), (0.01, "etp", 8.0, "beyond"),
    ]  # fmt: skip
    against, _, limits, (first, _) = verdict(*results_of(), statistics(lines))
    assert against == [
        f"{BETTER}: ETP (TF-IDF of reports) at both label shares; better, not shown to be by more than 1 point: PMQ at "
        "30 %; within 1 point of it: MoCo at 1 %; no difference shown: PMQ at 1 %; worse: MoCo at 30 %.",
        "No baseline but the untrained encoder was run.",
    ]
    assert limits == (
        "Each of the 5 seeds has its own pretraining of every method and its own labelled subset; the corpus and the "
        "test patients are the same. Test patients: , which detect a difference of 12.3 points. A difference that is "
        "not shown may still be there."
    )
    assert first == (
        "30 % of the labels, mean AUROC minus that of Random in points: higher: ETP (TF-IDF of reports) +9.0 "
        "(7.0 to 11.0), PMQ +4.0 (2.0 to 6.0); lower: MoCo −3.0 (−5.0 to −1.0)."
    )
    (none, _), *_ = verdict(*results_of("strict", 0.3), statistics([(0.3, "pmq", 4.0, "")]))
    assert none == f"{BETTER}: none; no difference shown: PMQ with 30 % of the labels."
    assert verdict(*results_of(), TableStatistics()).lines == []


@pytest.mark.parametrize(("protocol", "seeds"), [("paper", 8), ("strict", 1)])
def test_networks_of_one_pretraining_are_no_methods(protocol: str, seeds: int) -> None:
    """Untrained encoders differ from seed to seed under `paper` too; that counts as no pretraining."""
    lines = statistics([(0.3, "pmq", 4.0, "significant")])
    limits = verdict(*results_of(protocol, seeds=seeds), lines).limits
    assert "That one method is better than another does not follow from one pretraining of each." in limits


def test_a_sentence_names_the_best_baseline_with_the_rows_above_all_or_below_one() -> None:
    tested = statistics([(0.3, "pmq", 4.0, "beyond"), (0.3, "moco", 4.0, ""), (0.01, "pmq", 4.0, "beyond")])
    pairs = [
        (0.3, "pmq", "features", 0.05, 0.001),
        (0.3, "moco", "features", -0.05, 0.001),
        (0.01, "pmq", "features", 0.05, 0.5),
    ]
    frame = pd.DataFrame(pairs, columns=["ratio", "first", "second", "difference", "p"]).assign(metric=OVERALL)
    features = pd.DataFrame([{"ratio": 0.3, "metric": OVERALL, "variant": "features", "mean": 0.5}])
    tested = replace(
        tested, against_baselines=frame, intervals=pd.concat([tested.intervals, features], ignore_index=True)
    )
    assert verdict(*results_of(), tested).against[1] == (
        "Better than the baseline without pretraining (Features): PMQ at 30 %; worse than it: MoCo at 30 %."
    )


def test_a_sentence_names_the_best_method_with_those_that_it_is_shown_to_be_above() -> None:
    lines = [(ratio, row, points, "") for ratio in (0.3, 0.01) for row, points in (("pmq", 4.0), ("moco", 3.0))]
    among = [(0.3, "pmq", "moco", "significant"), (0.01, "pmq", "moco", "")]
    assert verdict(*results_of(), statistics(lines, among)).among == (
        "Highest mean AUROC of the methods: at 30 % PMQ, shown to be above MoCo; at 1 % PMQ, not shown to be above any "
        "other."
    )


def test_a_verdict_says_what_the_seeds_of_paper_share() -> None:
    lines = statistics([(0.3, "pmq", 4.0, "")])
    for subsets, counted in ((1, "1 labelled subset"), (4, "4 labelled subsets")):
        limits = verdict(*results_of("paper", subsets=subsets), lines).limits
        assert limits.startswith("The 5 seeds vary ")
        assert f"the one pretraining of each method, {counted} and the test patients are the same." in limits
        assert limits.endswith("On another labelled subset a difference may be another.") == (subsets == 1)
