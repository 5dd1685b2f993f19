"""A class without a test window is named, with the classes that each macro mean is over."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.results.macro_classes import macro_notes
from benchmark.results.metrics import score_both_units

CLASSES = ("NORM", "MI", "CD")
RECORDING = np.array(["a", "a", "b", "b"])


def notes(truth: list[int], predicted: list[int], *, multi: bool = False, sure: tuple[float, ...] = (1, 1, 1, 1)):
    hot = np.eye(3, dtype=np.int64)
    probability = (hot[predicted] * np.array(sure)[:, None]).astype(np.float32)
    return macro_notes(probability, hot[truth], RECORDING, CLASSES, multi=multi, pool="mean")


@pytest.mark.parametrize("multi", [False, True])
def test_nothing_is_said_where_every_class_is_tested(multi: bool) -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert macro_notes(truth.astype(np.float32), truth, RECORDING[:3], CLASSES, multi=multi, pool="mean") == []


@pytest.mark.parametrize("multi", [False, True])
def test_an_untested_class_is_in_no_mean_unless_it_is_predicted(multi: bool) -> None:
    untested = "no test window of class CD: macro AUROC is over NORM, MI"
    assert notes([0, 0, 1, 1], [0, 0, 1, 0], multi=multi) == [untested, "macro F1 is over NORM, MI"]
    predicted = "macro F1 is over NORM, MI, CD, with 0 for CD, predicted without a test window"
    assert notes([0, 0, 1, 1], [0, 0, 2, 2], multi=multi) == [untested, predicted]


def test_units_that_differ_are_told_apart() -> None:
    assert notes([0, 0, 1, 1], [0, 0, 2, 1], sure=(1, 1, 0.6, 0.9))[1:] == [
        "macro F1 per heartbeat is over NORM, MI, CD, with 0 for CD, predicted without a test window",
        "macro F1 per recording is over NORM, MI",
    ]


def test_one_class_alone_has_no_auroc() -> None:
    assert notes([0, 0, 0, 0], [0, 0, 0, 0]) == ["no test window of class MI, CD", "macro F1 is over NORM"]


def test_one_test_window_is_enough_and_all_are_too_many() -> None:
    assert notes([0, 0, 0, 1], [0, 0, 0, 1])[0] == "no test window of class CD: macro AUROC is over NORM, MI"


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
        for c, name in enumerate(CLASSES)
        if c in truth + predicted
    }
    assert list(of_class) == named
    scores = score_both_units(hot[predicted].astype(np.float32), hot[truth], RECORDING, multi=False)
    assert scores["heartbeat"].values["f1"] == pytest.approx(sum(of_class.values()) / len(named))
