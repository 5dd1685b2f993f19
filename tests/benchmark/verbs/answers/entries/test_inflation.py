"""The worth of a leak agrees with scores that were drawn: what is learnt by heart, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmark.verbs.answers.entries.inflation import as_predicted, worth_of_all, worth_of_half
from reports.statistics.interval import Estimate

COUNT = 40_000


@pytest.mark.parametrize("apart", [0.3, 1.0, 2.0])
def test_the_worth_is_that_of_drawn_scores(apart: float) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(COUNT) < 0.5
    noise, learnt = rng.standard_normal(COUNT), apart * (positive - 0.5)
    training = np.array(roc_auc_score(positive, noise + learnt))
    half = np.where(np.arange(COUNT) % 2, learnt, 0.0)
    assert worth_of_all(training) == pytest.approx(training - 0.5)
    assert worth_of_half(training) == pytest.approx(roc_auc_score(positive, noise + half) - 0.5, abs=0.006)


def known(mean: float, error: float) -> Estimate:
    return Estimate(mean, mean - 1.96 * error, mean + 1.96 * error, 0.0, error, 0.0, 5, 0.0)


@pytest.mark.parametrize(
    ("gain", "passed"), [(known(0.11, 0.02), True), (known(0.30, 0.02), False), (known(0.03, 0.02), False)]
)
def test_a_gain_must_be_there_and_near_the_predicted_one(gain: Estimate, passed: bool) -> None:
    assert as_predicted("x", gain, known(0.10, 0.02)).passed is passed
