"""The parts of the variance, the tail, and every case in which an error cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from reports.statistics.interval import Tail, estimate, patient_variances
from reports.statistics.test_set import Floats


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


def test_no_part_is_negative() -> None:
    up = np.array([0.0, 1.0, 2.0])
    assert patient_variances(np.array([up, -up]), patients=10**9) == pytest.approx((0.0, 1.0))
    assert patient_variances(np.array([up, up]), patients=10**9) == pytest.approx((1.0, 0.0))


@pytest.mark.parametrize(("seeds", "bound"), [(3, 0.18257), (5, 0.1)])
def test_a_patients_part_counts_from_two_of_its_own_errors_on(seeds: int, bound: float) -> None:
    """50 patients, 200 draws: 2 sqrt((1/50 + 1/200) / pairs) of a run's variance is the least that counts."""
    common, *own = uncorrelated(seeds + 1, 200)
    for share, counts in ((0.99 * bound, False), (1.01 * bound, True)):
        resampled = np.sqrt(share) * common + np.sqrt(1 - share) * np.array(own)
        found = estimate(np.column_stack([np.linspace(0, 1, seeds), resampled]), patients=50)
        assert found.patients_se == pytest.approx(np.sqrt(share * 50 / 49) if counts else 0.0)


def test_few_patients_make_up_for_their_number() -> None:
    scores = two_way(0.02, 0.0, 0.05)[:, 1:]
    few, many = patient_variances(scores, patients=5), patient_variances(scores, patients=10**6)
    assert np.array(few) / np.array(many) == pytest.approx([5 / 4, 5 / 4], rel=1e-4)


def test_seeds_alone_give_the_t_interval() -> None:
    found = estimate(two_way(0.0, 0.01, 0.03), patients=1000)
    half = student.ppf(0.975, 4) * 0.01 / np.sqrt(5)
    assert (found.patients_se, found.seeds_se) == (0.0, pytest.approx(0.01 / np.sqrt(5)))
    assert (found.mean, found.low, found.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half))
    assert found.detectable == pytest.approx(half + student.ppf(0.8, 4) * 0.01 / np.sqrt(5))


def test_two_seeds_are_enough_for_a_variance() -> None:
    found = estimate(two_way(0.0, 0.01, 0.0, seeds=2), patients=1000)
    assert (found.patients_se, found.seeds_se) == (0.0, pytest.approx(0.01 / np.sqrt(2)))
    assert found.high - found.mean == pytest.approx(student.ppf(0.975, 1) * 0.01 / np.sqrt(2))


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
    tail = Tail(share, seeds=3, patients=50)
    expected = share * student.sf(2.5, 2) + (1 - share) * student.sf(2.5, 49)
    assert tail.beyond(2.5) == pytest.approx(expected)
    assert tail.beyond(tail.quantile(0.025)) == pytest.approx(0.025)


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


def test_more_than_half_of_the_resamples_are_enough_and_so_are_two_patients() -> None:
    scores = np.column_stack([two_way(0.1, 0.1, 0.1)[:, :7], np.full((5, 4), np.nan)])
    assert np.isfinite(estimate(scores, patients=50).low)
    assert np.isfinite(estimate(two_way(0.1, 0.1, 0.1), patients=2).low)


def test_seeds_without_a_score_and_undefined_resamples_are_left_out() -> None:
    scores = two_way(0.02, 0.01, 0.01)
    broken = np.vstack([scores, np.full((1, scores.shape[1]), np.nan)])
    broken[0, [1, 7]] = np.nan
    found = estimate(broken, patients=300)
    assert found.seeds == 5
    assert found == estimate(np.delete(scores, [1, 7], axis=1), patients=300)
