"""The jackknife gives what the metrics give on a test set without the patient, to the last digits."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.results.metrics import METRICS, per_recording
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.store import Predictions
from reports.jackknife import JACKKNIFED, leave_one_out


def random_predictions(seed: int, *, multi: bool) -> Predictions:
    """Few patients with one to three recordings, equal probabilities, and classes of a single patient."""
    random = np.random.default_rng(seed)
    classes, patients = 4, 9
    recording = np.sort(random.integers(3 * patients, size=60))
    one_hot = np.eye(classes, dtype=np.int64)[random.choice(classes, p=[0.5, 0.3, 0.15, 0.05], size=3 * patients)]
    truth = (random.random((3 * patients, classes)) < 0.25).astype(np.int64) if multi else one_hot
    probability = np.round(random.random((60, classes)), 1 + seed % 2).astype(np.float32)
    names = np.array([f"r{number:02d}" for number in recording])
    owners = np.array([f"p{number // 3:02d}" for number in recording])
    return Predictions(probability, truth[recording], names, owners)


@pytest.mark.parametrize("unit", [HEARTBEAT, RECORDING])
@pytest.mark.parametrize("multi", [False, True])
def test_every_score_is_that_of_the_remaining_patients(unit: str, multi: bool) -> None:
    for seed in range(10):
        predictions = random_predictions(seed, multi=multi)
        left_out = leave_one_out(predictions, unit, [*JACKKNIFED, "ece"], multi=multi)
        for number, name in enumerate(["", *np.unique(predictions.patient)]):
            rest = predictions.patient != name
            probability, truth = predictions.probability[rest], predictions.truth[rest]
            if unit == RECORDING:
                probability, truth, _ = per_recording(probability, truth, predictions.recording[rest])
            for metric, values in left_out.items():
                expected = METRICS[metric].score(truth, probability, multi)
                assert values[number] == pytest.approx(expected, abs=1e-12, nan_ok=True), metric


def test_an_undefined_score_is_nan() -> None:
    one = Predictions(np.ones((1, 2), np.float32), np.array([[1, 0]]), np.array(["r"]), np.array(["p"]))
    left_out = leave_one_out(one, HEARTBEAT, ["auroc", "acc"], multi=False)
    assert np.isnan(left_out["auroc"]).all()
    assert left_out["acc"][0] == 1.0
    assert np.isnan(left_out["acc"][1])
