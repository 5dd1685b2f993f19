"""The definition of each metric, from the lines of a test set."""

from __future__ import annotations

import numpy as np

from benchmark.results.scoring.calibration import bins_of
from benchmark.results.scoring.lines import Floats, Ints, Lines, Values, macro, share
from benchmark.results.scoring.ranking import (
    average_precision,
    sensitivity,
)


def f1(lines: Lines) -> Values:
    """Macro F1 over the classes in truth or prediction."""
    return macro(class_f1(lines))


def auroc(lines: Lines) -> Values:
    """Macro one-vs-rest AUROC over the classes with both signs in the truth."""
    return macro(lines.areas())


def accuracy(lines: Lines) -> Values:
    """Micro accuracy; the exact match where a line can have several labels."""
    right = (lines.decisions == lines.truth).all(axis=1)  # (n,)
    sums = lines.sums(np.stack([right, np.ones_like(right)], axis=1))  # (..., 2)
    return share(sums[..., 0], sums[..., 1])


def label_accuracy(lines: Lines) -> Values:
    """Share of correct decisions over all labels of all lines."""
    right = (lines.decisions == lines.truth).sum(axis=1)  # (n,)
    sums = lines.sums(np.stack([right, np.full_like(right, lines.truth.shape[1])], axis=1))  # (..., 2)
    return share(sums[..., 0], sums[..., 1])


def class_f1(lines: Lines) -> Values:
    """(..., C) F1 of each class; NaN for one in neither truth nor prediction."""
    hits = lines.sums(lines.truth * lines.decisions)  # (..., C)
    return share(2 * hits, lines.sums(lines.truth + lines.decisions))


def class_brier(lines: Lines) -> Values:
    """(..., C) Brier score of each class against the rest: the mean squared error of its probability."""
    error = (lines.probability.astype(np.float64) - lines.truth) ** 2  # (n, C)
    return _where_both(lines, share(lines.sums(error), lines.positives + lines.negatives))


def class_ece(lines: Lines) -> Values:
    """(..., C) expected calibration error of each class against the rest, over 15 bins of equal width."""
    return _where_both(lines, _calibration_error(lines, lines.probability, lines.truth))


def _calibration_error(lines: Lines, probability: Floats, truth: Ints) -> Values:
    """(..., K) of (n, K): the distance of mean probability and share of positives, averaged over the lines by bin."""
    gaps = lines.binned(bins_of(probability), probability.astype(np.float64) - truth)  # (..., K, BINS)
    total = (lines.positives + lines.negatives)[..., :1]  # (..., 1) lines
    return share(np.abs(gaps).sum(axis=-1), np.broadcast_to(total, gaps.shape[:-1]))


def _where_both(lines: Lines, values: Values) -> Values:
    return np.where((lines.positives > 0) & (lines.negatives > 0), values, np.nan)


def auprc(lines: Lines) -> Values:
    """Macro average precision over the classes with both signs in the truth."""
    return macro(lines.ranked(average_precision)[0])


def sensitivity_at(lines: Lines) -> Values:
    """Macro sensitivity at 90 % specificity over the classes with both signs in the truth."""
    return macro(lines.ranked(sensitivity)[0])


def brier(lines: Lines) -> Values:
    """Macro Brier score over the classes with both signs in the truth."""
    return macro(class_brier(lines))


def ece(lines: Lines) -> Values:
    """Expected calibration error: of the most probable class (Guo et al., 2017); macro where labels are several."""
    if lines.multi:
        return macro(class_ece(lines))
    right = (lines.decisions * lines.truth).sum(axis=1, keepdims=True)  # (n, 1)
    return np.asarray(_calibration_error(lines, lines.probability.max(axis=1, keepdims=True), right)[..., 0])
