"""A method's output on the lines of a test set, and what every metric is computed from: sums, areas, rankings, bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.scoring.calibration import BINS
from benchmark.results.scoring.ranking import (
    Levels,
    Ranking,
    counted,
    levels_of,
)

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
        own = [np.bincount(b, weights=v, minlength=BINS) for b, v in zip(bins.T, values.T, strict=True)]
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
