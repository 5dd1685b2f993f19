"""Scores from a ranking against scikit-learn's, with ties, and the merging of levels.

The bins of the calibration error, and the errors of a class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from benchmark.results.metrics import (
    BINS,
    Lines,
    Ranking,
    Values,
    average_precision,
    bins_of,
    class_brier,
    class_ece,
    counted,
    levels_of,
    merged,
    roc_area,
    sensitivity,
)
from benchmark.results.metrics import ECE_BINS as CALIBRATION_BINS


def sensitivity_by_curve(truth: np.ndarray, probability: np.ndarray) -> float:
    wrong, right, _ = roc_curve(truth, probability, drop_intermediate=False)
    return float(right[wrong <= 0.1 + 1e-12].max())


@pytest.mark.parametrize("decimals", [8, 2, 1, 0], ids=["no ties", "some", "many", "two values"])
@pytest.mark.parametrize("share", [0.5, 0.03, 0.97])
@pytest.mark.parametrize("seed", range(4))
def test_equal_scikit_learns(decimals: int, share: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    truth = (generator.random(211) < share).astype(np.int64)
    truth[:2] = 0, 1
    raw = 1 / (1 + np.exp(-generator.normal(size=211) - 1.5 * truth + 1))
    probability = raw.round(decimals).astype(np.float32)
    ranking = counted(levels_of(truth, probability))
    assert roc_area(ranking) == pytest.approx(roc_auc_score(truth, probability), abs=1e-12)
    assert average_precision(ranking) == pytest.approx(average_precision_score(truth, probability), abs=1e-12)
    assert sensitivity(ranking) == pytest.approx(sensitivity_by_curve(truth, probability), abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "probability", "found"),
    [
        ([1] + [0] * 10, [0.5] + [0.6] + [0.1] * 9, 1.0),  # one negative of ten is above: 90 % specificity
        ([1] + [0] * 10, [0.5] + [0.5] + [0.1] * 9, 1.0),
        ([1] + [0] * 10, [0.5] + [0.6] * 2 + [0.1] * 8, 0.0),
        ([1, 1] + [0] * 9, [0.9, 0.5] + [0.6] + [0.1] * 8, 0.5),  # one of nine is more than a tenth
    ],
)
def test_sensitivity_is_at_a_specificity_of_exactly_nine_tenths(
    truth: list[int], probability: list[float], found: float
) -> None:
    ranking = counted(levels_of(np.array(truth), np.array(probability, np.float32)))
    assert sensitivity(ranking) == found


@pytest.mark.parametrize("truth", [[1, 0, 1], [0, 1, 0], [0, 1, 1]])
def test_one_line_of_a_sign_is_enough(truth: list[int]) -> None:
    probability = np.array([0.1, 0.5, 0.9], np.float32)
    ranking = counted(levels_of(np.array(truth), probability))
    assert roc_area(ranking) == pytest.approx(roc_auc_score(truth, probability), abs=1e-12)
    assert average_precision(ranking) == pytest.approx(average_precision_score(truth, probability), abs=1e-12)
    assert sensitivity(ranking) == pytest.approx(sensitivity_by_curve(np.array(truth), probability), abs=1e-12)


@pytest.mark.parametrize("truth", [[0, 0, 0], [1, 1, 1]])
def test_a_class_without_both_signs_has_no_score(truth: list[int]) -> None:
    ranking = counted(levels_of(np.array(truth), np.array([0.1, 0.5, 0.9], np.float32)))
    assert np.isnan([roc_area(ranking), average_precision(ranking), sensitivity(ranking)]).all()


def test_each_column_of_resamples_has_the_scores_of_its_own() -> None:
    generator = np.random.default_rng(3)
    once = counted(levels_of((generator.random(60) < 0.4).astype(np.int64), generator.random(60).astype(np.float32)))
    weight = generator.integers(0, 3, size=(len(once.positives), 4))
    columns = [own[:, None] * weight for own in (once.positives, once.negatives, once.tied)]  # three of (K, 4)
    together = Ranking(*columns, columns[1].sum(axis=0))
    for column in range(4):
        alone = Ranking(*(own[:, column] for own in columns), together.all_negatives[column])
        for score in (roc_area, average_precision, sensitivity):
            assert score(together)[column] == pytest.approx(float(score(alone)), abs=1e-12)


def test_many_levels_are_merged_into_few_with_all_their_lines() -> None:
    generator = np.random.default_rng(1)
    truth = (generator.random(5000) < 0.3).astype(np.int64)
    levels = levels_of(truth, generator.random(5000).astype(np.float32) + 0.3 * truth.astype(np.float32))
    few = merged(levels, 0.05)
    assert BINS < few.count <= 2 * BINS < levels.count
    once, all_of = counted(few), counted(levels)
    assert once.positives.sum() == all_of.positives.sum()
    assert once.negatives.sum() == all_of.negatives.sum()
    assert once.positives.min() > 0
    order = np.argsort(levels.level, kind="stable")
    assert (np.diff(few.level[order]) >= 0).all()
    assert sensitivity(once) == pytest.approx(sensitivity(all_of), abs=0.01)
    assert roc_area(once) == pytest.approx(roc_area(all_of), abs=0.005)
    assert merged(few, 0.05) is few


@pytest.mark.parametrize(("more", "whole"), [(0, True), (1, False)])
def test_twice_the_bins_are_few_enough(more: int, whole: bool) -> None:
    count = 2 * BINS + more
    levels = levels_of(np.arange(2 * count) % 2, np.arange(2 * count, dtype=np.float32))
    assert (levels.count, merged(levels, 0.01) is levels) == (count, whole)


def test_merged_levels_hold_as_many_positives_each() -> None:
    truth = np.ones(4 * BINS + 1, np.int64)
    truth[-1] = 0
    few = merged(levels_of(truth, np.arange(len(truth), dtype=np.float32)), 1.0)
    assert few.count == BINS
    assert set(counted(few).positives.tolist()) == {4}


def test_fifteen_bins_of_equal_width_an_edge_in_the_lower_one() -> None:
    assert CALIBRATION_BINS == 15
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
