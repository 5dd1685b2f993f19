"""The jackknife gives what the metrics give on a test set without the patient, to the last digits."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.results.arrays import Doubles, Floats, Ints
from benchmark.results.metrics import METRICS, class_f1, macro, per_recording
from benchmark.results.names import HEARTBEAT, RECORDING
from benchmark.results.store import Predictions
from reports.jackknife import JACKKNIFED, leave_one_out
from reports.results import in_unit


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


def by_class(metric: str, truth: Ints, probability: Floats, *, multi: bool) -> Doubles:
    """The scores that a metric is the mean of, one after the other; a single one where it is no mean over classes."""
    if metric == "acc":
        return np.array([METRICS[metric].score(truth, probability, multi)])
    if metric == "f1":
        return class_f1(truth, probability, multi)
    columns = range(truth.shape[1])
    return np.array([METRICS[metric].score(truth[:, [n]], probability[:, [n]], True) for n in columns])


@pytest.mark.parametrize("unit", [HEARTBEAT, RECORDING])
@pytest.mark.parametrize("multi", [False, True])
def test_every_score_is_that_of_the_remaining_patients(unit: str, multi: bool) -> None:
    for seed in range(10):
        predictions = random_predictions(seed, multi=multi)
        left_out = leave_one_out(in_unit(predictions, unit), JACKKNIFED, multi=multi)
        wholes: dict[str, Doubles] = {}
        for number, name in enumerate(["", *np.unique(predictions.patient)]):
            rest = predictions.patient != name
            probability, truth = predictions.probability[rest], predictions.truth[rest]
            if unit == RECORDING:
                probability, truth, _ = per_recording(probability, truth, predictions.recording[rest])
            for metric, values in left_out.items():
                scores = by_class(metric, truth, probability, multi=multi)
                whole = scores if name == "" else wholes[metric]
                wholes[metric] = whole
                held = scores if np.isnan(scores).all() else np.where(np.isnan(scores), whole, scores)
                assert values[number] == pytest.approx(macro(held), abs=1e-12, nan_ok=True), metric


def test_an_undefined_score_is_nan() -> None:
    one = Predictions(np.ones((1, 2), np.float32), np.array([[1, 0]]), np.array(["r"]), np.array(["p"]))
    left_out = leave_one_out(one, ["auroc", "acc"], multi=False)
    assert np.isnan(left_out["auroc"]).all()
    assert left_out["acc"][0] == 1.0
    assert np.isnan(left_out["acc"][1])


def test_a_class_of_one_positive_patient_counts_in_every_mean() -> None:
    random = np.random.default_rng(0)
    truth = np.stack([random.random(60) < 0.4, np.arange(60) == 7], axis=1).astype(np.int64)  # (60, 2)
    probability = random.random(truth.shape).astype(np.float32)
    names = np.array([f"p{number:02d}" for number in range(60)])
    left_out = leave_one_out(Predictions(probability, truth, names, names), ["auroc"], multi=True)["auroc"]
    alone = leave_one_out(Predictions(probability[:, :1], truth[:, :1], names, names), ["auroc"], multi=True)["auroc"]
    assert 2 * (left_out[1 + 7] - left_out[0]) == pytest.approx(alone[1 + 7] - alone[0], abs=1e-12)


def test_classes_that_do_not_count_are_in_no_mean() -> None:
    predictions = random_predictions(3, multi=True)
    some = np.array([True, False, True, True])
    part = Predictions(
        predictions.probability[:, some], predictions.truth[:, some], predictions.recording, predictions.patient
    )
    counted = leave_one_out(predictions, JACKKNIFED, multi=True, classes=some)
    for metric, values in leave_one_out(part, JACKKNIFED, multi=True).items():
        if metric != "acc":
            assert counted[metric] == pytest.approx(values, abs=1e-12, nan_ok=True), metric
