"""Scores against values worked out by hand and by the definitions, and what cannot be scored.

A class without a test window is named, with the classes that each macro mean is over.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmark.results.metrics import (
    COLUMNS,
    FURTHER,
    METRICS,
    decide,
    macro,
    macro_f1,
    macro_notes,
    per_recording,
    score,
    score_both_units,
)

CLASSES = 4


def test_metrics_stand_in_the_order_of_the_columns_under_the_names_of_stored_rows() -> None:
    assert [(metric.name, metric.title, metric.words, metric.kind) for metric in METRICS.values()] == [
        ("f1", "F1", "macro F1", "column"),
        ("auroc", "AUROC", "macro AUROC", "column"),
        ("acc", "ACC", "ACC", "column"),
        ("acc_per_label", "ACC per label", "ACC per label", "beside"),
        ("auprc", "AUPRC", "macro AUPRC", "further"),
        ("sens90", "Sens@90", "macro sensitivity at 90 % specificity", "further"),
        ("brier", "Brier", "macro Brier score", "further"),
        ("ece", "ECE", "ECE", "further"),
    ]
    assert (COLUMNS, FURTHER) == (("f1", "auroc", "acc"), ("auprc", "sens90", "brier", "ece"))
    assert [name for name, metric in METRICS.items() if metric.lower_is_better] == ["brier", "ece"]


def one_hot(labels: list[int], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.int64)[labels]


def certain(labels: list[int], classes: int) -> np.ndarray:
    return one_hot(labels, classes).astype(np.float32)


def f1_by_counting(decided: np.ndarray, truth: np.ndarray) -> float:
    """Mean over the classes in truth or decisions of 2 TP / (2 TP + FP + FN)."""
    values = []
    for d, t in zip(decided.T, truth.T, strict=True):
        errors = int((d != t).sum())
        hits = int((d & t).sum())
        if hits or errors:
            values.append(2 * hits / (2 * hits + errors))
    return float(np.mean(values))


def auroc_by_pairs(probability: np.ndarray, truth: np.ndarray) -> float:
    """Mean over the classes of the share of (positive, negative) pairs in the right order, a tie counting half."""
    values = []
    for p, t in zip(probability.T, truth.T, strict=True):
        pairs = list(product(p[t == 1], p[t == 0]))
        if pairs:
            values.append(np.mean([float(high > low) + 0.5 * float(high == low) for high, low in pairs]))
    return float(np.mean(values))


@pytest.mark.parametrize(
    ("truth", "decided", "f1"),
    [
        ([0, 0, 1, 1], [0, 1, 1, 1], (2 / 3 + 4 / 5) / 2),  # class 2 is neither true nor predicted: left out
        ([0, 0, 1, 1], [0, 2, 1, 1], (2 / 3 + 1 + 0) / 3),  # class 2 is predicted and never true: 0
        ([0, 0, 2, 2], [0, 0, 0, 0], (2 / 3 + 0) / 2),  # class 2 is never found: 0
        ([1, 1], [1, 1], 1.0),
        ([1, 1], [0, 0], 0.0),
    ],
)
def test_macro_f1_by_hand(truth: list[int], decided: list[int], f1: float) -> None:
    assert macro_f1(certain(decided, 3), one_hot(truth, 3), multi=False) == pytest.approx(f1)


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_what_their_definitions_count(multi: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    probability = np.round(random.dirichlet(np.ones(CLASSES), 30), 1).astype(np.float32)  # rounded: ties
    if multi:
        probability = np.round(random.random((30, CLASSES)), 1).astype(np.float32)
        truth = random.integers(0, 2, (30, CLASSES))
        truth[:, 2] = 0
    else:
        truth = one_hot(list(random.choice([0, 1, 3], 30)), CLASSES)
    decided = decide(probability, multi=multi)
    scores = score(probability, truth, multi=multi)
    assert scores.values["f1"] == pytest.approx(f1_by_counting(decided, truth))
    assert scores.values["auroc"] == pytest.approx(auroc_by_pairs(probability, truth))
    assert scores.values["acc"] == pytest.approx(np.mean([(d == t).all() for d, t in zip(decided, truth, strict=True)]))
    assert scores.undefined == {}


def test_several_labels_count_above_one_half_and_match_whole_lines() -> None:
    probability = np.array([[0.9, 0.6], [0.9, 0.6], [0.2, 0.1]], dtype=np.float32)
    truth = np.array([[1, 1], [1, 0], [0, 0]])
    values = score(probability, truth, multi=True).values
    assert (values["acc"], values["acc_per_label"]) == (pytest.approx(2 / 3), pytest.approx(5 / 6))
    assert "acc_per_label" not in score(probability, one_hot([0, 1, 0], 2), multi=False).values
    assert decide(np.array([[0.5, 0.51]], dtype=np.float32), multi=True).tolist() == [[0, 1]]
    assert decide(np.array([[0.4, 0.4, 0.2]], dtype=np.float32), multi=False).tolist() == [[1, 0, 0]]


def test_a_class_absent_from_the_truth_is_no_auroc_of_zero() -> None:
    probability = np.array([[0.7, 0.2, 0.1], [0.2, 0.3, 0.5], [0.3, 0.6, 0.1]], dtype=np.float32)
    assert score(probability, one_hot([0, 1, 1], 3), multi=False).values["auroc"] == pytest.approx(1.0)


def test_one_line_of_a_sign_is_enough_for_an_auroc() -> None:
    """Class 0: its one line is second of three. Class 1: the one line without it is the last."""
    probability = np.array([[0.6, 0.9], [0.5, 0.8], [0.4, 0.7]], dtype=np.float32)
    truth = np.array([[0, 1], [1, 1], [0, 0]])
    assert score(probability, truth, multi=True).values["auroc"] == (0.5 + 1.0) / 2


def test_what_cannot_be_computed_is_none_with_its_reason() -> None:
    one_class = score(certain([0, 0], 3), one_hot([0, 0], 3), multi=False)
    assert one_class.values == {"f1": 1.0, "auroc": None, "acc": 1.0}
    assert one_class.undefined == {"auroc": "no class has both signs in the test set"}
    nothing = score(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64), multi=True)
    assert nothing.values["f1"] is None
    assert nothing.values["acc"] == 1.0
    assert nothing.undefined["f1"] == "no class in truth or prediction"


@pytest.mark.parametrize("multi", [False, True])
def test_an_empty_test_set_has_no_score(multi: bool) -> None:
    empty = np.empty((0, 3))
    scores = score_both_units(empty.astype(np.float32), empty.astype(np.int64), np.array([], np.str_), multi=multi)
    for unit in ("heartbeat", "recording"):
        assert set(scores[unit].values.values()) == {None}
        assert scores[unit].undefined == dict.fromkeys(scores[unit].values, "no test window")


def test_a_recording_is_the_mean_or_the_maximum_of_its_windows_and_scored_apart() -> None:
    probability = np.array([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]], np.float32)
    truth, recording = one_hot([0, 1, 0, 1], 2), np.array(["b", "a", "b", "a"])
    for pool, expected in (("mean", [[0.4, 0.6], [0.2, 0.8]]), ("max", [[0.6, 0.8], [0.3, 0.9]])):
        pooled, pooled_truth, recordings = per_recording(probability, truth, recording, pool)
        assert recordings.tolist() == ["a", "b"]
        np.testing.assert_allclose(pooled, np.array(expected, np.float32), rtol=1e-6)
        np.testing.assert_array_equal(pooled_truth, one_hot([1, 0], 2))
        scores = score_both_units(probability, truth, recording, multi=False, pool=pool)
        assert scores["heartbeat"].values["acc"] == 1 / 4
        assert scores["recording"].values["acc"] == 1 / 2  # class 1 has the largest value in both
        assert per_recording(probability[:0], truth[:0], recording[:0], pool)[0].shape == (0, 2)


NAMES = ("NORM", "MI", "CD")
RECORDING = np.array(["a", "a", "b", "b"])


def notes(truth: list[int], predicted: list[int], *, multi: bool = False, sure: tuple[float, ...] = (1, 1, 1, 1)):
    hot = np.eye(3, dtype=np.int64)
    probability = (hot[predicted] * np.array(sure)[:, None]).astype(np.float32)
    return macro_notes(probability, hot[truth], RECORDING, NAMES, multi=multi, pool="mean")


@pytest.mark.parametrize("multi", [False, True])
def test_an_untested_class_is_in_no_mean_unless_it_is_predicted(multi: bool) -> None:
    every = np.eye(3, dtype=np.int64)
    assert macro_notes(every.astype(np.float32), every, RECORDING[:3], NAMES, multi=multi, pool="mean") == []
    untested = "no test window of class CD: macro AUROC is over NORM, MI"
    assert notes([0, 0, 1, 1], [0, 0, 1, 0], multi=multi) == [untested, "macro F1 is over NORM, MI"]
    predicted = "macro F1 is over NORM, MI, CD, with 0 for CD, predicted without a test window"
    assert notes([0, 0, 1, 1], [0, 0, 2, 2], multi=multi) == [untested, predicted]
    assert notes([0, 0, 1, 1], [0, 0, 2, 1], sure=(1, 1, 0.6, 0.9))[1:] == [
        predicted.replace("F1 is", "F1 per heartbeat is"),
        "macro F1 per recording is over NORM, MI",
    ]
    assert notes([0, 0, 0, 0], [0, 0, 0, 0]) == ["no test window of class MI, CD", "macro F1 is over NORM"]
    assert notes([0, 0, 0, 1], [0, 0, 0, 1])[0] == untested  # one test window is enough


@pytest.mark.parametrize("predicted", [[0, 0, 1, 1], [0, 2, 1, 1], [2, 2, 2, 2]])
def test_the_stored_f1_is_the_mean_over_the_classes_named(predicted: list[int]) -> None:
    truth = [0, 0, 1, 1]
    hot = np.eye(3, dtype=np.int64)
    (note,) = (note for note in notes(truth, predicted)[1:] if "per recording" not in note)
    named = note.split(" is over ")[1].split(", with")[0].split(", ")
    of_class = {
        name: 2
        * sum(t == p == c for t, p in zip(truth, predicted, strict=True))
        / (truth.count(c) + predicted.count(c))
        for c, name in enumerate(NAMES)
        if c in truth + predicted
    }
    assert list(of_class) == named
    scores = score_both_units(hot[predicted].astype(np.float32), hot[truth], RECORDING, multi=False)
    assert scores["heartbeat"].values["f1"] == pytest.approx(sum(of_class.values()) / len(named))


@pytest.mark.parametrize("classes", [2, 8, 9, 17])
def test_a_macro_of_many_samples_has_the_bits_of_each_alone(classes: int) -> None:
    random = np.random.default_rng(classes)
    values = np.where(random.random((500, classes)) < 0.2, np.nan, random.random((500, classes)))
    values[:5] = np.nan
    alone = [row[~np.isnan(row)].mean() if (~np.isnan(row)).any() else np.nan for row in values]
    np.testing.assert_array_equal(macro(values), alone)
    assert macro(values[7]) == alone[7]
