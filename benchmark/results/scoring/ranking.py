"""Scores of one class from the order of its lines: AUROC, average precision, sensitivity at 90 % specificity.

Only the K distinct probabilities that a positive line has matter. Counts may be of several weightings of the lines at
once (resamples of the patients): then arrays have a further axis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Counts = NDArray[Any]
FALSE_ALARMS_ONE_IN = 10
"""Sensitivity is at a specificity of 1 - 1/10 or more."""
BINS = 48


@dataclass(frozen=True)
class Levels:
    """Place of each of n lines among the K levels, the highest probability first."""

    count: int
    """K."""
    level: NDArray[np.intp]
    """(n,) of a positive line its level; of a negative line the first level it is not below; K for one below all."""
    positive: NDArray[np.bool_]
    """(n,)"""
    tied: NDArray[np.bool_]
    """(n,) negative lines that are on their level, neither above nor below its positives."""


@dataclass(frozen=True)
class Ranking:
    """Weighted counts of a class's lines by level."""

    positives: Counts
    """(K, ...) on each level."""
    negatives: Counts
    """(K, ...) above or on each level and below the one before."""
    tied: Counts
    """(K, ...) of these, on the level."""
    all_negatives: Counts
    """(...)"""


def levels_of(truth: NDArray[np.int64], probability: NDArray[np.float32]) -> Levels:
    """The levels of n lines, (n,) each."""
    positive = truth == 1  # (n,)
    values = np.unique(probability[positive])  # (K,) ascending
    above = np.searchsorted(values, probability, side="right")  # (n,) values that are not above the line's
    tied = ~positive & (above > 0) & (np.append(values, np.nan)[above - 1] == probability)
    return Levels(len(values), len(values) - above, positive, tied)


def counted(levels: Levels) -> Ranking:
    """Counts with every line once."""
    chosen = [levels.level[own] for own in (levels.positive, ~levels.positive, levels.tied)]
    positives, negatives, tied = (np.bincount(own, minlength=levels.count + 1) for own in chosen)  # (K + 1,) each
    return Ranking(positives[:-1], negatives[:-1], tied[:-1], np.asarray(negatives.sum()))


def merged(levels: Levels, window: float) -> Levels:
    """At most 2 * BINS levels in place of K: for scores of resamples, whose differences from the first they keep.

    Half of them hold as many positives each; the others lie where the share of negatives above is within `window` of
    the one that sensitivity is at.
    """
    if levels.count <= 2 * BINS:
        return levels
    once = counted(levels)
    share = np.cumsum(once.negatives) / once.all_negatives  # (K,)
    near = np.abs(share - 1 / FALSE_ALARMS_ONE_IN) <= window  # (K,)
    before = [np.cumsum(own) - own for own in (once.positives, once.positives * near)]  # two of (K,)
    bins = [BINS * own // max(1, own[-1] + 1) for own in before]
    starts = np.flatnonzero((np.diff(bins[0]) > 0) | (np.diff(bins[1]) > 0)) + 1  # of all merged levels but the first
    place = np.searchsorted(starts, np.arange(levels.count), side="right")  # (K,)
    level = np.append(place, len(starts) + 1)[levels.level]  # (n,)
    return replace(levels, count=len(starts) + 1, level=level, tied=~levels.positive)


def roc_area(ranking: Ranking) -> Values:
    """Share of the pairs of a positive and a negative with the positive ahead, ties half: scikit-learn's AUROC."""
    above = np.cumsum(ranking.negatives, axis=0)  # (K, ...) negatives ahead of a level or on it
    behind = ranking.all_negatives - above + ranking.tied / 2  # (K, ...)
    return _recalled(ranking, behind / np.maximum(ranking.all_negatives, 1))


def average_precision(ranking: Ranking) -> Values:
    """Precision at each level, weighted by the recall it adds: scikit-learn's `average_precision_score`."""
    hits, misses = np.cumsum(ranking.positives, axis=0), np.cumsum(ranking.negatives, axis=0)  # (K, ...)
    precision = hits / np.maximum(hits + misses, 1)  # a level without weight adds no recall
    return _recalled(ranking, precision)


def sensitivity(ranking: Ranking) -> Values:
    """The highest share of positives found by a threshold with at most one in ten negatives above it.

    That is the highest `tpr` of scikit-learn's `roc_curve` where `fpr` is at most 0.1.
    """
    misses = np.cumsum(ranking.negatives, axis=0)  # (K, ...) never falls from level to level
    return _recalled(ranking, FALSE_ALARMS_ONE_IN * misses <= ranking.all_negatives)


def _recalled(ranking: Ranking, worth: Counts) -> Values:
    """Mean over the positives of what their level is worth, (K, ...); NaN without both signs."""
    found = (ranking.positives * worth).sum(axis=0, dtype=np.float64)
    total = ranking.positives.sum(axis=0, dtype=np.float64) * (ranking.all_negatives > 0)
    return np.asarray(np.divide(found, total, out=np.full(np.shape(total), np.nan), where=total > 0))
