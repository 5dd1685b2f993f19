"""The worth of a leak agrees with scores that were drawn: what is learnt by heart, and nothing else.

What a perfect reader of rhythms has, from shares made by hand and from the simulator's.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmark.extras.answers import Shown, as_predicted, best_auroc, labelled, worth_of_all, worth_of_half
from reports.statistics.estimates import Estimate

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
    return Estimate(mean, mean - 1.96 * error, mean + 1.96 * error, 0.0, error, 0.0, 4.0, 5, 0.0)


@pytest.mark.parametrize(
    ("gain", "passed"), [(known(0.11, 0.02), True), (known(0.30, 0.02), False), (known(0.03, 0.02), False)]
)
def test_a_gain_must_be_there_and_near_the_predicted_one(gain: Estimate, passed: bool) -> None:
    assert as_predicted("x", gain, known(0.10, 0.02)).passed is passed


AFIB, NOTHING = frozenset({"AFIB"}), frozenset[str]()


def recordings(ill_with: int, ill: int, well_with: int, well: int) -> list[Shown]:
    """Recordings of the class MI with and without AFIB, then of NORM."""
    return [
        *[(frozenset({"MI"}), AFIB)] * ill_with,
        *[(frozenset({"MI"}), NOTHING)] * ill,
        *[(frozenset({"NORM"}), AFIB)] * well_with,
        *[(frozenset({"NORM"}), NOTHING)] * well,
    ]


@pytest.mark.parametrize(("shares", "auroc"), [((8, 92, 0, 100), 0.54), ((5, 95, 5, 95), 0.5), ((0, 10, 10, 0), 1.0)])
def test_the_perfect_reader_has_half_the_difference_of_the_shares(
    shares: tuple[int, int, int, int], auroc: float
) -> None:
    assert best_auroc(recordings(*shares)) == pytest.approx(auroc)


def test_the_shares_and_the_score_are_those_that_the_page_names() -> None:
    found = labelled(2000)
    ill = [findings for classes, findings in found if "NORM" not in classes]
    assert not any(findings for classes, findings in found if "NORM" in classes)
    assert sum(map(bool, ill)) / len(found) == pytest.approx(0.05, abs=0.01)
    assert sum(map(bool, ill)) / len(ill) == pytest.approx(0.08, abs=0.015)
    assert best_auroc(found) == pytest.approx(0.53, abs=0.006)
