"""Errors of means by hand and against simulation, and the words that follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, t
from scipy.stats import t as student

from benchmark.results.store import Predictions
from reports.load import load
from reports.statistics.bootstrap import Floats, ScoreColumn, score_columns
from reports.statistics.estimates import (
    LEVEL,
    MARGIN,
    CommonVariance,
    Tail,
    bounded,
    common_variance,
    detectable,
    estimate,
    method,
    patient_variances,
    patients_needed,
    reach,
    seeds_needed,
)
from reports.statistics.table import pairwise


def two_way(common: float, run: float, alone: float, *, seeds: int = 5, resamples: int = 2000) -> Floats:
    """(S, 1+R) scores around 0.7 with known deviations; each is exact on the sample that is drawn."""
    generator = np.random.default_rng(0)
    shared = generator.normal(size=resamples)
    own = generator.normal(size=(seeds, resamples))
    own -= own.mean(axis=1, keepdims=True)
    offset = np.linspace(-1, 1, seeds) / np.std(np.linspace(-1, 1, seeds), ddof=1) if seeds > 1 else np.zeros(1)
    point = 0.7 + run * offset  # (S,)
    return np.column_stack([point, point[:, None] + common * shared + alone * own])


def test_what_patients_do_to_all_runs_alike_is_told_from_what_they_do_to_one() -> None:
    common, alone = patient_variances(two_way(0.02, 0.0, 0.05)[:, 1:], patients=10**6)
    assert common**0.5 == pytest.approx(0.02, rel=0.05)
    assert alone**0.5 == pytest.approx(0.05, rel=0.05)

    few = patient_variances(two_way(0.02, 0.0, 0.05)[:, 1:], patients=5)
    assert np.array(few) / (common, alone) == pytest.approx([5 / 4, 5 / 4], rel=1e-4)
    up = np.array([0.0, 1.0, 2.0])
    assert patient_variances(np.array([up, -up]), patients=10**9) == pytest.approx((0.0, 1.0)), "no part is negative"
    assert patient_variances(np.array([up, up]), patients=10**9) == pytest.approx((1.0, 0.0))


def uncorrelated(rows: int, draws: int) -> Floats:
    """(rows, draws) with mean 0, variance 1 (ddof 1) and covariance 0, exactly."""
    noise = np.random.default_rng(1).normal(size=(draws, rows))
    columns, _ = np.linalg.qr(noise - noise.mean(axis=0))
    return np.asarray(columns.T * np.sqrt(draws - 1))


def test_the_patients_parts_are_a_covariance_and_the_rest_of_the_variance() -> None:
    resampled = np.random.default_rng(0).normal(size=(3, 7)) + np.linspace(0, 4, 7)
    covariance = np.cov(resampled) * 12 / 11
    common = covariance[np.triu_indices(3, 1)].mean()
    expected = (common, covariance.diagonal().mean() - common)
    assert patient_variances(resampled, patients=12) == pytest.approx(expected)
    assert patient_variances(resampled[:1], patients=12) == pytest.approx((covariance[0, 0], 0.0))


@pytest.mark.parametrize(("seeds", "bound"), [(3, 0.18257), (5, 0.1)])
def test_a_patients_part_counts_from_two_of_its_own_errors_on(seeds: int, bound: float) -> None:
    """50 patients, 200 draws: 2 sqrt((1/50 + 1/200) / pairs) of a run's variance is the least that counts."""
    common, *own = uncorrelated(seeds + 1, 200)
    for share, counts in ((0.99 * bound, False), (1.01 * bound, True)):
        resampled = np.sqrt(share) * common + np.sqrt(1 - share) * np.array(own)
        found = estimate(np.column_stack([np.linspace(0, 1, seeds), resampled]), patients=50)
        assert found.patients_se == pytest.approx(np.sqrt(share * 50 / 49) if counts else 0.0)


@pytest.mark.parametrize("seeds", [2, 5])
def test_seeds_alone_give_the_t_interval(seeds: int) -> None:
    found = estimate(two_way(0.0, 0.01, 0.03 * (seeds > 2), seeds=seeds), patients=1000)
    error = 0.01 / np.sqrt(seeds)
    half = student.ppf(0.975, seeds - 1) * error
    assert (found.patients_se, found.seeds_se) == (0.0, pytest.approx(error))
    assert found.high - found.mean == found.mean - found.low == pytest.approx(half)
    if seeds > 2:
        assert (found.mean, found.detectable) == pytest.approx((0.7, half + student.ppf(0.8, seeds - 1) * error))


def test_patients_alone_give_their_bootstrap_deviation() -> None:
    """Five runs that are the same, as those of a linear probe on one encoder."""
    found = estimate(two_way(0.02, 0.0, 0.0), patients=1000)
    deviation = two_way(0.02, 0.0, 0.0)[0, 1:].std(ddof=1) * np.sqrt(1000 / 999)
    assert found.seeds_se == 0
    assert found.high - found.mean == pytest.approx(student.ppf(0.975, 999) * deviation)


def test_interval_and_p_agree() -> None:
    scores = two_way(0.02, 0.03, 0.01)
    found = estimate(scores, patients=400)
    assert estimate(scores - found.low, patients=400).p == pytest.approx(0.05, abs=1e-6)
    assert estimate(scores - found.mean, patients=400).p == pytest.approx(1.0)
    assert found.detectable > found.high - found.mean


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_tail_lies_between_its_two(share: float) -> None:
    tail = Tail(share, freedom=2, patients=50)
    expected = share * student.sf(2.5, 2) + (1 - share) * student.sf(2.5, 49)
    assert tail.beyond(2.5) == pytest.approx(expected)
    assert tail.beyond(tail.quantile(0.025)) == pytest.approx(0.025)


def test_two_rows_are_equivalent_where_the_interval_at_90_percent_lies_within_the_margin() -> None:
    found = estimate(two_way(0.004, 0.002, 0.002, seeds=10), patients=400)
    error = np.hypot(found.patients_se, found.seeds_se)
    tail = Tail(found.seeds_se**2 / error**2, 9, 400)
    furthest = MARGIN - tail.quantile(LEVEL) * error  # a mean whose one-sided interval just ends at the margin
    scores = two_way(0.004, 0.002, 0.002, seeds=10)
    for mean in (furthest, -furthest):
        assert estimate(scores - found.mean + mean, patients=400).p_equivalent == pytest.approx(LEVEL, abs=1e-6)
    assert estimate(scores - found.mean, patients=400).p_equivalent < LEVEL
    assert estimate(scores - found.mean + MARGIN, patients=400).p_equivalent == pytest.approx(0.5)


def test_one_seed_covers_the_patients_and_says_so() -> None:
    found = estimate(two_way(0.02, 0.0, 0.0, seeds=1), patients=500)
    assert np.isnan(found.seeds_se)
    deviation = two_way(0.02, 0.0, 0.0, seeds=1)[0, 1:].std(ddof=1) * np.sqrt(500 / 499)
    assert found.patients_se == pytest.approx(deviation)
    assert found.high - found.mean == found.mean - found.low == pytest.approx(student.ppf(0.975, 499) * deviation)
    assert found.remark == "one seed: the interval covers the patients alone"


def test_a_run_compared_with_itself_is_no_difference() -> None:
    found = estimate(np.zeros((3, 101)), patients=50)
    assert (found.mean, found.low, found.high, found.p, found.detectable) == (0, 0, 0, 1, 0)
    assert (found.patients_se, found.seeds_se, found.seeds) == (0, 0, 3)


@pytest.mark.parametrize(
    ("scores", "patients", "remark"),
    [
        (np.full((5, 11), np.nan), 50, "no seed has a score"),
        (two_way(0.02, 0.1, 0.1), 1, "one test patient"),
        (np.column_stack([two_way(0.1, 0.1, 0.1)[:, :6], np.full((5, 5), np.nan)]), 50, "undefined in half"),
        (np.full((5, 11), 0.7), 50, "does not vary over resamples and seeds"),
    ],
)
def test_an_error_that_cannot_be_told_is_nan_with_its_reason(scores: Floats, patients: int, remark: str) -> None:
    found = estimate(scores, patients)
    assert np.isnan([found.low, found.high, found.p, found.patients_se, found.seeds_se, found.detectable]).all()
    assert remark in found.remark
    assert found.seeds == np.isfinite(scores[:, 0]).sum()
    assert found.mean == pytest.approx(0.7 if found.seeds else np.nan, nan_ok=True)


def test_an_interval_as_wide_as_the_scale_of_the_score_is_not_estimable() -> None:
    wide = estimate(np.array([[0.6, 0.6, 0.6], [0.4, 0.4, 0.4]]), patients=300)
    assert np.isnan([wide.low, wide.high, wide.detectable]).all()
    assert (wide.mean, wide.seeds) == (0.5, 2)
    assert wide.remark.startswith("not estimable: the interval would be wider")
    narrow = estimate(np.array([[0.51, 0.51, 0.51], [0.49, 0.49, 0.49]]), patients=300)
    assert narrow.high - narrow.low < 1
    scores = np.column_stack([two_way(0.1, 0.1, 0.1)[:, :7], np.full((5, 4), np.nan)])
    assert np.isfinite(estimate(scores, patients=50).low), "more than half of the resamples are enough"
    assert np.isfinite(estimate(two_way(0.01, 0.01, 0.01), patients=2).low), "and so are two patients"


def test_seeds_without_a_score_and_undefined_resamples_are_left_out() -> None:
    scores = two_way(0.02, 0.01, 0.01)
    broken = np.vstack([scores, np.full((1, scores.shape[1]), np.nan)])
    broken[0, [1, 7]] = np.nan
    found = estimate(broken, patients=300)
    assert found.seeds == 5
    assert found == estimate(np.delete(scores, [1, 7], axis=1), patients=300)


@pytest.fixture
def words(
    simulate_predictions: Callable[..., dict[tuple[int, int], Predictions]],
    scatter: Callable[..., object],
    write_predictions: Callable[..., Path],
) -> Callable[..., str]:
    """All sentences on a store of two methods with some seeds; `alter` changes their columns on the way."""

    def say(
        seeds: int,
        protocol: str = "paper",
        *,
        details: bool = False,
        frozen: bool = False,
        alter: Callable[[list[ScoreColumn]], list[ScoreColumn]] = lambda columns: columns,
    ) -> str:
        design = {"methods": 2, "seeds": seeds, "patients": 40, "scatter": scatter()}
        found = simulate_predictions(np.random.default_rng(0), **design)
        places = {(f"m{method}", "ptb-xl", 0.1, 41 + seed): run for (method, seed), run in found.items()}
        root = write_predictions(places, protocol=protocol)
        run = load(root)
        columns = alter(score_columns(run, run.plan.cells, "recording", resamples=60))
        pairs = pairwise(columns)
        return " ".join(method(run, columns, pairs) if details else reach(run, columns, pairs, frozen=frozen))

    return say


@pytest.mark.parametrize(
    ("seeds", "protocol", "footers", "details", "never"),
    [
        (5, "paper", [
            "Test patients: PTB-XL 40.", "over 1 pair of rows per column",
            "5 seeds of fine-tuning on one pretraining per method and one labelled subset",
            "the intervals do not cover the variation between pretrainings or subsets",
            "Detectable difference in points (power 80 %, without Holm's correction, median of the pairs): F1 ",
        ], [
            "60 resamples of the test patients", "need not hold for the methods", "5 seeds leave 4 degrees of freedom",
            "significant from 2.8 standard errors, instead of 2.0",
        ], ["use three or more", "other pairs"]),
        (2, "paper", ["use three or more"], [
            "need not hold for the methods", "2 seeds leave 1 degree of freedom", "12.7 standard errors",
        ], []),
        (1, "paper", ["One seed: the intervals cover the test patients alone"], [],
         ["degree", "need not hold for the methods"]),
        (3, "strict", ["its own pretraining, labelled subset and fine-tuning"], [],
         ["seeds of fine-tuning", "between these encoders", "use three or more"]),
    ],
)  # fmt: skip
def test_the_words_say_what_the_seeds_cover(
    words: Callable[..., str], seeds: int, protocol: str, footers: list[str], details: list[str], never: list[str]
) -> None:
    below, behind = words(seeds, protocol), words(seeds, protocol, details=True)
    assert [text for text in footers if text not in below] == []
    assert [text for text in details if text not in behind] == []
    assert [text for text in never if text in below + behind] == []


def test_a_frozen_encoder_has_no_fine_tuning(words: Callable[..., str]) -> None:
    assert "3 seeds, each with its own pretraining and labelled subset:" in words(3, "strict", frozen=True)


def test_a_row_with_a_pretraining_per_seed_is_named(words: Callable[..., str]) -> None:
    """The second row has one pretraining, and a seed that was not run."""

    def per_seed(columns: list[ScoreColumn]) -> list[ScoreColumn]:
        encoders = np.array([["a", "b", "c"], ["d", "d", ""]])
        alone = replace(columns[0], variants=("m0",), scores=columns[0].scores[:1], encoders=encoders[:1])
        return [*(replace(column, encoders=encoders) for column in columns), alone]

    assert "over 1 pair of rows per column" in words(3, alter=per_seed), "where most rows compete"
    assert "one pretraining per method (M0: one per seed) and one labelled subset" in words(3, alter=per_seed)


def test_the_detectable_difference_is_that_of_a_normal_or_a_t_test() -> None:
    assert detectable(0.01, 0.0, 3) == pytest.approx(0.01 * (norm.ppf(0.975) + norm.ppf(0.8)), rel=1e-4)
    assert detectable(0.0, 0.01, 3) == pytest.approx(0.01 * (t.ppf(0.975, 3) + t.ppf(0.8, 3)), rel=1e-4)
    assert detectable(0.0, 0.0, 3) == 0.0


@pytest.mark.parametrize(
    ("difference", "patients_se", "seeds_se", "seeds", "needed"),
    [
        (0.01, 0.02, 0.001, 3, (None, 38)),  # what the other part of the error forbids
        (0.01, 0.001, 0.02, 3, (None, None)),
        (0.5, 0.01, float("nan"), 1, (None, 1)),
        (0.05, 0.02, float("nan"), 1, (None, 2)),
        (0.01, 0.0, 0.0, 3, (3, 1)),
        (0.0, 0.0, 0.0, 3, (3, 1)),
    ],
)
def test_what_more_seeds_or_patients_can_do(
    difference: float, patients_se: float, seeds_se: float, seeds: int, needed: tuple[int | None, int | None]
) -> None:
    errors = (difference, patients_se, seeds_se)
    assert (seeds_needed(*errors, seeds, seeds - 1), patients_needed(*errors, seeds - 1)) == needed


def test_the_number_of_seeds_is_the_least_that_suffices() -> None:
    for further in (0, 4):  # of the other pairs
        found = seeds_needed(0.02, 0.002, 0.01, 3, 2 + further)
        assert found is not None
        assert found > 3
        spread = 0.01 * math.sqrt(3)
        assert detectable(0.002, spread / math.sqrt(found), found - 1 + further) <= 0.02
        assert detectable(0.002, spread / math.sqrt(found - 1), found - 2 + further) > 0.02


def test_the_multiple_of_the_patients_is_the_least_that_suffices_whatever_the_sign() -> None:
    found = patients_needed(-0.02, 0.02, 0.001, 5)
    assert found is not None
    assert found > 1
    assert detectable(0.02 / math.sqrt(found), 0.001, 5) <= 0.02 < detectable(0.02 / math.sqrt(found - 1), 0.001, 5)


def test_no_more_than_a_hundred_are_named() -> None:
    of_seeds, of_patients = detectable(0.0, 0.1 * math.sqrt(3 / 100), 99), detectable(0.01, 0.0, 3)
    assert [seeds_needed(size * of_seeds, 0.0, 0.1, 3, 2) for size in (1, 0.9999)] == [100, None]
    assert [patients_needed(size * of_patients, 0.1, 0.0, 3) for size in (1, 0.9999)] == [100, None]


def test_a_variance_over_seeds_is_moderated_as_limmas_with_a_bound() -> None:
    """Smyth 2004: (d s^2 + d0 s0^2) / (d + d0), here of d = 4; d0 is at most that of the rows outside the pair."""
    scores = two_way(0.0, 0.01, 0.0, seeds=5)
    alone, common = estimate(scores, patients=1000), CommonVariance(4e-6, 20.0)
    prior = bounded(common, seeds=5, rows=4)
    assert prior == (4e-6, 8.0)
    found = estimate(scores, 1000, prior)
    assert found.freedom == 12
    assert found.seeds_se**2 == pytest.approx((4 * alone.seeds_se**2 + 8 * 4e-6) / 12)
    assert found.high - found.mean == pytest.approx(student.ppf(0.975, 12) * found.seeds_se)
    assert bounded(common, seeds=5, rows=2).freedom == 0
    assert bounded(common, seeds=5, rows=8).freedom == 20
    assert estimate(np.zeros((3, 101)), 50, prior).p == 1


def test_variances_drawn_from_one_distribution_tell_it() -> None:
    """Smyth's moments, as limma's fitFDist has them; one variance for all is found as such."""
    generator = np.random.default_rng(0)
    for freedom in (4.0, 20.0):
        true = 0.0004 * freedom / generator.chisquare(freedom, 20_000)
        found = common_variance(np.sqrt(true * generator.chisquare(4, 20_000) / 4), 5)
        assert found.freedom == pytest.approx(freedom, rel=0.15)
        assert found.variance == pytest.approx(0.0004, rel=0.05)
    alike = common_variance(np.sqrt(0.0004 * generator.chisquare(4, 28) / 4), 5)
    assert alike.freedom > 10
    assert common_variance(np.array([0.01, 0.02, math.nan, 0.0]), 5) == (0.0, 0.0), "two variances tell nothing"
