"""Stored predictions: which ids, labels and probabilities are read, at their bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmark.results.files.arrays import npz_bytes
from benchmark.results.rows import Predictions, read_predictions

TWO = Predictions(
    probability=np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32),
    truth=np.array([[0, 1], [1, 0]], dtype=np.int64),
    recording=np.array(["r1", "r2"]),
    patient=np.array(["p1", "p1"]),
)


def read(predictions: Predictions) -> Predictions:
    return read_predictions(npz_bytes(vars(predictions)))


def test_an_id_has_at_most_250_characters() -> None:
    longest = np.array(["p" * 250, "q"])
    assert read(replace(TWO, patient=longest)).patient.tolist() == longest.tolist()
    with pytest.raises(ValueError, match="recording has ids of more than 250 characters"):
        read(replace(TWO, recording=np.array(["p" * 251, "q"])))


@pytest.mark.parametrize("code", [0xD7FF, 0xE000, 0x10FFFF])
def test_an_id_may_hold_any_character(code: int) -> None:
    assert read(replace(TWO, patient=np.array([chr(code), "q"]))).patient.tolist() == [chr(code), "q"]


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000])
def test_an_id_of_what_is_no_character_is_refused(code: int) -> None:
    ids = np.array([code, ord("q")], np.uint32).view("<U1")
    with pytest.raises(ValueError, match="patient has an id that is no text"):
        read(replace(TWO, patient=ids))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"probability": TWO.probability[:, :0], "truth": TWO.truth[:, :0]}, r"the shape \(2, 0\)"),
        ({"probability": TWO.probability[0], "truth": TWO.truth[0]}, r"the shape \(2,\)"),
        ({"probability": TWO.probability + np.float32([0, 1e-3])}, r"outside \[0, 1\]"),
        ({"probability": TWO.probability - np.float32([0, 1e-3])}, r"outside \[0, 1\]"),
        ({"truth": -TWO.truth}, "a label is neither 0 nor 1"),
        ({"recording": TWO.recording[:1]}, r"recording is <U2 \(1,\), not str_ \(2,\)"),
        ({"truth": TWO.truth.astype(np.int32)}, "truth is int32"),
    ],
)
def test_what_is_wrong_with_an_array_is_said(change: dict[str, np.ndarray], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(replace(TWO, **change))


def test_no_window_is_no_error() -> None:
    none = Predictions(*(values[:0] for values in vars(TWO).values()))
    assert read(none).probability.shape == (0, 2)
