"""Which rows share a variance over seeds, and what a row that stands apart has instead."""

from __future__ import annotations

import numpy as np
import pytest

from reports.moderation import Estimate, added, common_variance, moderated_variances, ratio_p, standing_of


def test_the_common_variance_is_found_again() -> None:
    """s0^2 d0 / chi-squared(d0) times chi-squared(4) / 4; equal variances share all degrees of freedom."""
    random = np.random.default_rng(3)
    true = 0.01 * 8 / random.chisquare(8, size=20_000)
    variance, freedom = common_variance(true * random.chisquare(4, size=true.size) / 4, 4)
    assert variance == pytest.approx(0.01, rel=0.05)
    assert freedom == pytest.approx(8, rel=0.1)
    assert common_variance(np.full(20, 0.01), 4)[1] > 1000
    assert common_variance(np.array([0.01, 0.02]), 4) == (0.0, 0.0)


def test_the_ratio_of_a_row_to_equal_rows_has_the_f_distribution_whatever_a_seed_does_to_all() -> None:
    p = []
    for index in range(400):
        random = np.random.default_rng([5, index])
        scores = random.normal(size=(4, 5)) + 10 * random.normal(size=5)
        p.append(ratio_p(scores[0], scores[1:]))
    for level in (0.1, 0.5, 0.9):
        assert np.mean(np.array(p) < level) == pytest.approx(level, abs=0.06)


def test_one_noisy_row_moves_no_other() -> None:
    scores = np.random.default_rng(2).normal(size=(8, 8))
    scores[3] *= 10
    standing = standing_of(scores, np.zeros(8, bool))
    assert np.flatnonzero(~standing.in_prior).tolist() == [3]
    assert standing.is_apart[3]


def test_a_row_apart_is_told_by_its_distance() -> None:
    """A baseline without scatter needs no rule of its own: its 0 is its variance."""
    random = np.random.default_rng(4)
    scores = dict(zip("abcd", random.normal(size=(4, 5)), strict=True)) | {"features": np.full(5, 3.0)}
    pool = np.mean([scores[name] for name in "abcd"], axis=0)
    (estimate,) = moderated_variances(scores, [("a", "features")], ["features"])
    distance = pool.var(ddof=1) / 5
    residuals = [(scores[name] - pool).var(ddof=1) / 5 for name in "abcd"]
    prior = common_variance(np.array(residuals), 4)
    shrunk = (4 * residuals[0] + min(prior.freedom, 8) * prior.variance) / (4 + min(prior.freedom, 8))
    expected = added(Estimate(distance, 4), Estimate(shrunk, 4 + min(prior.freedom, 8)))
    assert estimate == pytest.approx(expected)
    (of_two,) = moderated_variances(scores | {"x": scores["a"] - 1}, [("features", "x")], ["features", "x"])
    assert of_two == pytest.approx((scores["a"].var(ddof=1) / 5, 4))
