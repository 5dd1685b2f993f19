"""Ten trainings of one network on CODE-test, which differ by their seed alone: one method, however paired.

Predictions for 827 ECGs of as many patients and six abnormalities, from Ribeiro et al. 2020 (MIT). A suite that says of
two trainings what only holds of two methods fails here.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from benchmark.results.metrics import macro_f1
from benchmark.results.store import Predictions
from reports.statistics.bootstrap import Floats, resampled_scores, resampled_test_set
from reports.statistics.estimates import Estimate, estimate
from tests.conftest import SHARED

FOLDER = SHARED / "reference" / "code_test"
TRAININGS, PATIENTS, SPLITS, RESAMPLES = 10, 827, 300, 500

pytestmark = pytest.mark.usefixtures("shared_reference")


@cache
def scores_of(metric: str) -> Floats:
    """(S, 1+R) of the ten trainings."""
    truth = pd.read_csv(FOLDER / "gold_standard.csv").to_numpy(np.int64)  # (n, C)
    probability = [np.load(FOLDER / f"seed_{number}.npy").astype(np.float32) for number in range(1, TRAININGS + 1)]
    names = np.array([f"patient {number}" for number in range(len(truth))])
    test = resampled_test_set(Predictions(probability[0], truth, names, names), "recording", resamples=RESAMPLES)
    assert test.patients == PATIENTS
    return np.stack([resampled_scores(test, own, multi=True, metrics=[metric])[metric] for own in probability])


def splits_of(metric: str, seeds: int) -> list[tuple[Floats, Estimate]]:
    """Differences of two halves of random trainings that stand for two methods, (S, 1+R), and what is said of them."""
    scores, random = scores_of(metric), np.random.default_rng(seeds)
    drawn = [random.permutation(TRAININGS)[: 2 * seeds] for _ in range(SPLITS)]
    found = [scores[own[:seeds]] - scores[own[seeds:]] for own in drawn]
    return [(own, estimate(own, PATIENTS)) for own in found]


@pytest.mark.parametrize("metric", ["auroc", "auprc", "f1"])
@pytest.mark.parametrize("seeds", [3, 5])
def test_trainings_of_one_network_are_seldom_told_apart_as_methods(metric: str, seeds: int) -> None:
    told = np.mean([found.p < 0.05 for _, found in splits_of(metric, seeds)])
    assert told <= 0.08


def test_two_trainings_alone_have_no_interval_of_methods() -> None:
    pairs = [estimate(own[:1], PATIENTS) for own, _ in splits_of("auprc", 3)]
    assert {found.seeds for found in pairs} == {1}
    assert all(np.isnan(found.seeds_se) for found in pairs)


@pytest.mark.parametrize(
    ("reader", "printed"),
    [
        ("cardiology_residents", [0.776, 0.917, 0.947, 0.882, 0.769, 0.882]),
        ("emergency_residents", [0.719, 0.852, 0.912, 0.848, 0.696, 0.946]),
        ("medical_students", [0.732, 0.928, 0.915, 0.750, 0.706, 0.873]),
    ],
)
def test_readers_have_the_f1_of_each_abnormality_that_their_paper_prints(reader: str, printed: list[float]) -> None:
    truth = pd.read_csv(FOLDER / "gold_standard.csv").to_numpy(np.int64)  # (n, C)
    decisions = pd.read_csv(FOLDER / f"{reader}.csv").to_numpy(np.float32)  # (n, C)
    for number, expected in enumerate(printed):
        f1 = macro_f1(decisions[:, [number]], truth[:, [number]], multi=True)
        assert f1 == pytest.approx(expected, abs=0.0005)
