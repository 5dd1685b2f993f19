"""The bins of the calibration error, and the errors of a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.scoring.calibration import BINS, bins_of
from benchmark.results.scoring.definitions import class_brier, class_ece
from benchmark.results.scoring.lines import Lines, Values


def test_fifteen_bins_of_equal_width_an_edge_in_the_lower_one() -> None:
    assert BINS == 15
    probability = np.array([0.0, 0.0666, 0.0667, 0.5, 0.9333, 0.9334, 1.0], np.float32)
    assert bins_of(probability).tolist() == [0, 0, 1, 7, 13, 14, 14]
    assert bins_of(np.array([0.2, 0.4], np.float64).astype(np.float64)).tolist() == [2, 5]


class Twice(Lines):
    """The same lines as drawn once and as drawn twice: with an axis in front, as of resamples."""

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([values.sum(axis=0), 2 * values.sum(axis=0)])

    def binned(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Values:
        own = super().binned(bins, values)
        return np.stack([own, 2 * own])


def test_the_errors_of_each_class_are_by_hand_and_hold_with_an_axis_in_front() -> None:
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    probability = np.array([[0.9, 0.1, 0.0], [0.3, 0.7, 0.0], [0.3, 0.6, 0.1], [0.1, 0.8, 0.1]], np.float32)
    ece = [(0.1 + 0.6 + 0.1) / 4, (0.1 + (1 - 0.7) + (1 - 0.6) + (1 - 0.8)) / 4]
    brier = [(0.01 + 2 * 0.09 + 0.01) / 4, (0.01 + 0.09 + 0.16 + 0.04) / 4]
    lines = Lines(truth, probability, False)
    for score, expected in ((class_ece, ece), (class_brier, brier)):
        found = score(lines)
        np.testing.assert_allclose(found[:2], expected, atol=1e-6)
        assert np.isnan(found[2]), "a class without a line of its own"
        np.testing.assert_allclose(score(Twice(truth, probability, False)), np.stack([found, found]), atol=1e-7)
