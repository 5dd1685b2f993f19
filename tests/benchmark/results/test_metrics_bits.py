"""Stored scores keep their bits: the first form of the metrics, kept here as it was, against the one of today."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmark.results.metrics import macro, macro_f1, per_recording, score

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def first_decide(probability: Floats, multi: bool) -> Ints:
    if multi:
        return (probability > 0.5).astype(np.int64)
    decisions = np.zeros(probability.shape, dtype=np.int64)
    if len(probability):
        decisions[np.arange(len(probability)), probability.argmax(axis=1)] = 1
    return decisions


def first_macro_f1(probability: Floats, truth: Ints, multi: bool) -> float | None:
    decisions = first_decide(probability, multi)
    counted = truth.sum(axis=0) + decisions.sum(axis=0)
    present = counted > 0
    if not present.any():
        return None
    hits = (truth * decisions).sum(axis=0)
    return float((2 * hits[present] / counted[present]).mean())


def first_score(probability: Floats, truth: Ints, multi: bool) -> tuple[dict[str, float | None], dict[str, str]]:
    names = ("f1", "auroc", "acc", *(("acc_per_label",) if multi else ()))
    if not len(truth):
        return dict.fromkeys(names), dict.fromkeys(names, "no test window")
    values: dict[str, float | None] = {}
    undefined: dict[str, str] = {}
    values["f1"] = first_macro_f1(probability, truth, multi)
    if values["f1"] is None:
        undefined["f1"] = "no class in truth or prediction"
    both = [c for c in range(truth.shape[1]) if 0 < truth[:, c].sum() < len(truth)]
    values["auroc"] = float(np.mean([roc_auc_score(truth[:, c], probability[:, c]) for c in both])) if both else None
    if not both:
        undefined["auroc"] = "no class has both signs in the test set"
    agree = first_decide(probability, multi) == truth
    values["acc"] = float(agree.all(axis=1).mean())
    if multi:
        values["acc_per_label"] = float(agree.mean())
    return values, undefined


def first_per_recording(probability: Floats, truth: Ints, recording: NDArray[np.str_]) -> tuple[Floats, Ints]:
    names, first, inverse = np.unique(recording, return_index=True, return_inverse=True)
    total = np.zeros((len(names), probability.shape[1]), dtype=np.float64)
    np.add.at(total, inverse, probability)
    return (total / np.bincount(inverse)[:, None]).astype(np.float32), truth[first]


def drawn(random: np.random.Generator, multi: bool) -> tuple[Floats, Ints, NDArray[np.str_]]:
    """A test set of up to 60 windows and 13 classes, with ties and absent classes in about half of the cases each."""
    classes, windows = int(random.integers(1, 14)), int(random.integers(1, 60))
    probability = random.random((windows, classes))
    if random.random() < 0.5:
        probability = np.round(probability * 5) / 5
    if multi:
        share = random.random(classes) * random.integers(0, 2, classes)  # (C,)
        truth = (random.random((windows, classes)) < share).astype(np.int64)
    else:
        there = max(1, classes - int(random.integers(0, 4)))
        truth = np.eye(classes, dtype=np.int64)[random.integers(0, there, windows)]
    recording = np.array([f"r{number}" for number in random.integers(0, 20, windows)])
    return probability.astype(np.float32), truth, recording


@pytest.mark.parametrize("multi", [False, True])
def test_scores_have_the_bits_they_always_had(multi: bool) -> None:
    random = np.random.default_rng(7)
    for _ in range(60):
        probability, truth, recording = drawn(random, multi)
        pooled, pooled_truth, _ = per_recording(probability, truth, recording)
        first_pooled, first_truth = first_per_recording(probability, truth, recording)
        assert pooled.tobytes() == first_pooled.tobytes()
        assert pooled_truth.tobytes() == first_truth.tobytes()
        for own, signs in ((probability, truth), (pooled, pooled_truth)):
            found = score(own, signs, multi=multi)
            assert (found.values, found.undefined) == first_score(own, signs, multi)
            assert macro_f1(own, signs, multi=multi) == first_macro_f1(own, signs, multi)


@pytest.mark.parametrize("classes", [2, 8, 9, 17])
def test_a_macro_of_many_samples_has_the_bits_of_each_alone(classes: int) -> None:
    random = np.random.default_rng(classes)
    values = np.where(random.random((500, classes)) < 0.2, np.nan, random.random((500, classes)))
    values[:5] = np.nan
    alone = [row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in values]
    np.testing.assert_array_equal(macro(values), alone)
    assert macro(values[7]) == alone[7]
