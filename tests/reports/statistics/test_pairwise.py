"""Frames of intervals and pairs: Holm, ties, pairing by the seeds both have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports.statistics.another_run.repeat import chance_of_repeat
from reports.statistics.columns import ScoreColumn
from reports.statistics.pairwise import INTERVAL, PAIR, PLACE, holm, intervals, pairwise, ties


@pytest.fixture(scope="module")
def f1(simulate_columns: Callable[..., list[ScoreColumn]], scatter: Callable[..., object]) -> ScoreColumn:
    """Three methods, the first far ahead of two equal ones."""
    generator = np.random.default_rng(5)
    design = {"methods": 3, "seeds": 4, "patients": 150, "scatter": scatter(), "advantage": 1.0}
    return simulate_columns(generator, resamples=300, **design)[0]


def test_holm_by_hand() -> None:
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.5])
    assert holm(p)[[0, 1, 3, 4]] == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert np.isnan(holm(p)[2])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_pairs_are_all_pairs_in_order_and_antisymmetric(f1: ScoreColumn) -> None:
    pairs = pairwise([f1])
    assert pairs.columns.tolist() == PAIR
    assert list(zip(pairs["first"], pairs["second"], strict=True)) == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]
    turned = pairwise([replace(f1, variants=f1.variants[::-1], scores=f1.scores[::-1])])
    assert turned["difference"].tolist() == pytest.approx((-pairs["difference"])[::-1].tolist())
    assert turned["p"].tolist() == pytest.approx(pairs["p"][::-1].tolist())
    ahead = 1 - pairs["probability_of_improvement"][::-1]
    assert turned["probability_of_improvement"].tolist() == pytest.approx(ahead.tolist())


def test_the_probability_of_improvement_counts_every_seed_and_resample_and_not_the_test_set(f1: ScoreColumn) -> None:
    one, other = np.array([[9.0, 1.0, 2.0], [9.0, 3.0, 4.0]]), np.array([[0.0, 1.0, 3.0], [0.0, 2.0, 3.0]])
    column = replace(f1, variants=f1.variants[:2], scores=np.stack([one, other]), seeds=f1.seeds[:2])
    assert pairwise([column])["probability_of_improvement"].tolist() == [(0.5 + 0 + 1 + 1) / 4]


def test_a_clear_difference_is_found_and_its_numbers_agree(f1: ScoreColumn) -> None:
    first = pairwise([f1]).iloc[0]
    means = intervals([f1]).set_index("variant")["mean"]
    assert first["difference"] == pytest.approx(means["m0"] - means["m1"])
    assert first["p_holm"] < 0.01
    assert first["p"] <= first["p_holm"]
    assert 0 < first["low"] < first["difference"] < first["high"]
    assert first["probability_of_improvement"] > 0.99
    assert first["remark"] == ""


def test_a_significant_pair_has_the_chance_of_its_repeat_at_the_level_that_holm_leaves(f1: ScoreColumn) -> None:
    pairs = pairwise([f1])
    clear, equal = pairs.iloc[0], pairs.iloc[2]
    errors = (clear["patients_se"], clear["seeds_se"], 4, f1.patients)
    share = clear["p"] / clear["p_holm"]
    assert share == pytest.approx(1 / 3, rel=0.51)  # first or second of three
    assert clear["repeat"] == chance_of_repeat(clear["difference"], *errors, share=share)
    assert equal["p_holm"] > 0.05
    assert np.isnan(equal["repeat"])


def test_intervals_stay_within_the_scores() -> None:
    high = np.clip(np.random.default_rng(0).normal(0.99, 0.02, size=(3, 201)), 0, 1)
    scores, encoders = np.stack([high, 1 - high]), np.array([["e"] * 3] * 2)
    column = ScoreColumn("recording", 0.3, "a", "acc", ("m0", "m1"), (1, 2, 3), 20, encoders, scores)
    found = intervals([column])
    assert found.columns.tolist() == INTERVAL
    assert found["remark"].tolist() == ["", ""]
    assert (found["high"][0], found["low"][1]) == (1.0, 0.0)
    assert 0.9 < found["low"][0] < found["mean"][0]
    assert found["mean"][1] < found["high"][1] < 0.1


def test_only_seeds_that_both_have_are_paired(f1: ScoreColumn) -> None:
    scores = f1.scores.copy()
    scores[1, 3] = np.nan
    first = pairwise([replace(f1, scores=scores)]).iloc[0]
    assert first["seeds"] == 3
    assert first["difference"] == pytest.approx((scores[0, :3, 0] - scores[1, :3, 0]).mean())
    assert first["remark"] == "over the 3 of 4 seeds that both have"


def test_the_equal_tie_and_the_best_stands_apart(f1: ScoreColumn) -> None:
    without_best = replace(f1, variants=f1.variants[1:], scores=f1.scores[1:], ratio=0.01)
    columns = [f1, without_best]
    marked = ties(intervals(columns), pairwise(columns)).set_index(["ratio", "variant"])
    assert marked.loc[0.1, "best"].tolist() == [True, False, False]
    assert not marked.loc[0.1, "tie"].any()
    assert marked.loc[0.01, "best"].sum() == 1
    assert marked.loc[0.01, "tie"].sum() == 1
    assert not (marked["best"] & marked["tie"]).any()


def test_of_a_score_that_is_better_lower_the_lowest_is_the_best(f1: ScoreColumn) -> None:
    column = replace(f1, metric="brier")
    marked = ties(intervals([column]), pairwise([column])).set_index("variant")
    assert marked["best"].to_dict() == (marked["mean"] == marked["mean"].min()).to_dict()


@pytest.mark.parametrize(("p", "tie"), [(0.05, True), (0.0499, False)])
def test_a_tie_is_what_is_not_significant(f1: ScoreColumn, p: float, tie: bool) -> None:
    pairs = pairwise([f1]).assign(p_holm=p)
    marked = ties(intervals([f1]), pairs).set_index("variant")
    assert marked["tie"].to_dict() == {"m0": False, "m1": tie, "m2": tie}


def test_what_cannot_be_compared_ties_and_what_has_no_score_does_not(f1: ScoreColumn) -> None:
    scores = f1.scores.copy()
    scores[0, 2:] = np.nan
    scores[1, :2] = np.nan
    scores[2] = np.nan
    column = replace(f1, scores=scores)
    assert set(pairwise([column])["remark"]) == {"no seed has a score"}
    marked = ties(intervals([column]), pairwise([column])).set_index("variant")
    assert marked["tie"].to_dict() == {"m0": False, "m1": True, "m2": False}
    assert marked["best"].to_dict() == {"m0": True, "m1": False, "m2": False}


def test_a_single_row_is_neither_best_nor_tie(f1: ScoreColumn) -> None:
    alone = replace(f1, variants=("m0",), scores=f1.scores[:1])
    assert len(pairwise([alone])) == 0
    marked = ties(intervals([alone]), pairwise([alone]))
    assert not marked["best"].any()
    assert not marked["tie"].any()


def test_families_are_the_columns(f1: ScoreColumn) -> None:
    """A second column with a tiny p leaves the first one's adjusted p as they were."""
    other = replace(f1, dataset="chapman")
    both, own = pairwise([f1, other]), pairwise([f1])
    pd.testing.assert_frame_equal(both[both["dataset"] == f1.dataset], own)
    assert both.groupby(PLACE).size().tolist() == [3, 3]


def test_no_runs_give_empty_frames() -> None:
    assert intervals([]).columns.tolist() == INTERVAL
    assert pairwise([]).columns.tolist() == PAIR
    assert len(ties(intervals([]), pairwise([]))) == 0
