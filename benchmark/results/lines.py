"""The lines of a test set, and what every metric is computed from: sums, areas, rankings, bins.

Scores of one class from the order of its lines: AUROC, average precision, sensitivity at 90 % specificity.

Only the K distinct probabilities that a positive line has matter. Counts may be of several weightings of the lines at
once (resamples of the patients): then arrays have a further axis.

Bins of the expected calibration error (Guo et al., 2017, "On calibration of modern neural networks").

15 bins of equal width; a probability on an edge belongs to the lower bin, as in scikit-learn's `calibration_curve`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


ECE_BINS = 15
EDGES = np.linspace(0, 1, ECE_BINS + 1)[1:-1]
"""(BINS - 1,) between the bins."""


def bins_of(probability: NDArray[np.float32]) -> NDArray[np.intp]:
    """The bin of each probability, from 0."""
    return np.searchsorted(EDGES, probability.astype(np.float64), side="left")


THRESHOLD = 0.5
"""Probability above which a label of a multi-label task is predicted."""


Floats = NDArray[np.float32]


Ints = NDArray[np.int64]


Values = NDArray[np.float64]


@dataclass(frozen=True)
class Lines:
    """A method's output on the n lines of a test set, windows or recordings, with C classes."""

    truth: Ints
    """(n, C) multi-hot."""
    probability: Floats
    """(n, C)"""
    multi: bool
    """A line can have several labels."""

    @cached_property
    def decisions(self) -> Ints:
        """(n, C) multi-hot predictions."""
        return decide(self.probability, multi=self.multi)

    @cached_property
    def positives(self) -> NDArray[Any]:
        """(..., C) number of lines of each class."""
        return self.sums(self.truth)

    @cached_property
    def negatives(self) -> NDArray[Any]:
        """(..., C) number of lines not of each class."""
        return self.sums(1 - self.truth)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums of (n, K) values over the lines: (K,).

        Resampled lines count as often as their patient was drawn: (1+R, K).
        """
        return np.asarray(values.sum(axis=0))

    def areas(self) -> Values:
        """(..., C) area under the ROC curve of each class against the rest; NaN if the truth lacks either sign."""
        both = (self.positives > 0) & (self.negatives > 0)  # (C,)
        areas = np.full(len(both), np.nan)
        for c in np.flatnonzero(both):
            areas[c] = area_under_roc(self.truth[:, c], self.probability[:, c])
        return areas

    def ranked(self, *scores: Callable[[Ranking], Values]) -> list[Values]:
        """(..., C) values of each score from the ranking of each class; NaN if the truth lacks either sign."""
        values = [np.full(np.shape(self.positives), np.nan) for _ in scores]  # (..., C) each
        for c in np.flatnonzero(self.truth.any(axis=0) & ~self.truth.all(axis=0)):
            levels = levels_of(self.truth[:, c], self.probability[:, c])
            for own, found in zip(values, self.scores_of(levels, scores), strict=True):
                own[..., c] = found
        return values

    def scores_of(self, levels: Levels, scores: Sequence[Callable[[Ranking], Values]]) -> list[Values]:
        """(...) values of each score of a class."""
        ranking = counted(levels)
        return [score_of(ranking) for score_of in scores]

    def binned(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Values:
        """(..., K, BINS) sums of (n, K) values over the lines of each bin."""
        own = [np.bincount(b, weights=v, minlength=ECE_BINS) for b, v in zip(bins.T, values.T, strict=True)]
        return np.stack(own)


def area_under_roc(truth: Ints, probability: Floats) -> float:
    """Area under the ROC curve of n lines, (n,) each, with both signs in the truth.

    scikit-learn's `roc_auc_score` to the bit, which checks its input for most of its time.
    """
    order = np.argsort(-probability, kind="stable")  # (n,)
    last = np.append(np.flatnonzero(np.diff(probability[order])), len(order) - 1)  # (T,) of each distinct probability
    hits = np.cumsum(truth[order])[last].astype(np.float64)  # (T,)
    misses = 1 + last - hits  # (T,)
    if len(last) > 2:  # points on a straight line add nothing but rounding
        corner = (np.diff(hits, 2) != 0) | (np.diff(misses, 2) != 0)  # (T - 2,)
        kept = np.concatenate([[True], corner, [True]])  # (T,)
        hits, misses = hits[kept], misses[kept]
    up, right = np.append(0.0, hits) / hits[-1], np.append(0.0, misses) / misses[-1]  # (T + 1,)
    return float((np.diff(right) * (up[1:] + up[:-1]) / 2.0).sum())


def share(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    """part / whole, elementwise; NaN where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0))


def macro(values: Values) -> Values:
    """(...) means of (..., C) values over the classes with a defined value; NaN where none has one.

    Defined values are packed and summed in numpy's order, so that a stored score and its first resampled one have the
    same bits.
    """
    defined = ~np.isnan(values)
    if defined.all() and values.shape[-1]:
        return np.asarray(values.mean(axis=-1))
    rows, counts = values.reshape(-1, values.shape[-1]), defined.sum(axis=-1)  # (N, C), (...)
    means = np.full(len(rows), np.nan)  # (N,)
    for count in np.unique(counts[counts > 0]):
        own = counts.ravel() == count  # (N,)
        means[own] = rows[own][defined.reshape(rows.shape)[own]].reshape(-1, count).mean(axis=1)
    return means.reshape(counts.shape)


def decide(probability: Floats, *, multi: bool) -> Ints:
    """Multi-hot decisions (n, C): the most probable class, or every class above the threshold."""
    if multi:
        return (probability > THRESHOLD).astype(np.int64)  # (n, C)
    decisions = np.zeros(probability.shape, dtype=np.int64)  # (n, C)
    if len(probability):
        decisions[np.arange(len(probability)), probability.argmax(axis=1)] = 1
    return decisions
