"""F1, AUROC and ACC of one run on its test set and on every resample of the test patients.

The definitions are those of the stored scores: F1 macro over the classes in truth or prediction, AUROC macro
one-vs-rest over the classes with both signs, ACC micro (multi-label: exact match). A class that a resample lacks is
left out of its mean, never counted as zero.

AUROC counts the pairs (positive above negative, a tie is half a pair). With weights w = 1 + e by patient their number
is p(w) = p(1) + g'e + e'Ae. The first two terms are computed exactly (g sums the placements of DeLong et al., 1988);
A, one entry per pair of patients, is computed on B bins of the scores, where a pair within one bin is a half. So only
pairs within a bin are approximate, about 1/B of all, and these enter with the weight e_p e_q of mean zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reports.statistics.test_set import Floats, ResampledTestSet, by_patient, pooled, resampled_sums

FEWEST_BINS = 16
CELLS = 40_000
"""Patients x bins: fewer patients leave room for finer bins."""
THRESHOLD = 0.5
"""A label of a multi-label task is given above it, as in the stored scores."""
RESAMPLED = ("f1", "auroc", "acc")


def resampled_scores(test: ResampledTestSet, probability: NDArray[np.float32], *, multi: bool) -> dict[str, Floats]:
    """Metric -> (1+R,) values in [0, 1], the first that of the test set itself; NaN where the metric is undefined.

    probability: (windows, C) as in the stored predictions.
    """
    scores = pooled(test, probability)  # (n, C)
    decisions = _decide(scores, multi=multi)  # (n, C)
    return {
        "f1": _f1(test, decisions),
        "auroc": _auroc(test, scores),
        "acc": _accuracy(test, decisions),
    }


def _decide(probability: NDArray[np.float32], *, multi: bool) -> NDArray[np.int64]:
    if multi:
        return (probability > THRESHOLD).astype(np.int64)  # (n, C)
    decisions = np.zeros(probability.shape, dtype=np.int64)  # (n, C)
    decisions[np.arange(len(probability)), probability.argmax(axis=1)] = 1
    return decisions


def _mean_of_defined(values: Floats, defined: NDArray[np.bool_]) -> Floats:
    """(1+R,) means of (1+R, C) values over the classes that are defined; NaN where none is."""
    count = defined.sum(axis=1)  # (1+R,)
    total = np.where(defined, values, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0))


def _f1(test: ResampledTestSet, decisions: NDArray[np.int64]) -> Floats:
    hits = resampled_sums(test, by_patient(test, test.truth * decisions))  # (1+R, C)
    counted = resampled_sums(test, by_patient(test, test.truth + decisions))  # (1+R, C)
    present = counted > 0
    return _mean_of_defined(2 * hits / np.where(present, counted, 1.0), present)


def _accuracy(test: ResampledTestSet, decisions: NDArray[np.int64]) -> Floats:
    right = (decisions == test.truth).all(axis=1)  # (n,)
    sums = resampled_sums(test, by_patient(test, np.stack([right, np.ones_like(right)], axis=1)))  # (1+R, 2)
    there = sums[:, 1:] > 0
    return _mean_of_defined(sums[:, :1] / np.where(there, sums[:, 1:], 1.0), there)


def _auroc(test: ResampledTestSet, scores: NDArray[np.float32]) -> Floats:
    positives = resampled_sums(test, by_patient(test, test.truth))  # (1+R, C)
    negatives = resampled_sums(test, by_patient(test, 1 - test.truth))  # (1+R, C)
    won = np.zeros_like(positives)  # (1+R, C)
    for c in range(scores.shape[1]):
        if positives[0, c] and negatives[0, c]:
            won[:, c] = _pairs_won(test, scores[:, c], test.truth[:, c] == 1)
    both = (positives > 0) & (negatives > 0)
    return _mean_of_defined(won / np.where(both, positives * negatives, 1.0), both)


def _pairs_won(test: ResampledTestSet, scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Floats:
    """(1+R,) weighted number of (positive, negative) pairs in which the positive has the higher score, ties half."""
    order = np.argsort(scores, kind="stable")
    sign, patient, ranked = positive[order], test.patient[order], scores[order]  # (n,) each
    level = np.cumsum(np.r_[False, ranked[1:] != ranked[:-1]])  # (n,) equal scores share a level
    up = np.bincount(level, weights=sign)  # (levels,) positives
    down = np.bincount(level, weights=~sign)  # (levels,) negatives
    up_below, down_below = np.cumsum(up) - up / 2, np.cumsum(down) - down / 2  # (levels,) its own count half
    beaten = np.where(sign, down_below[level], up.sum() - up_below[level])  # (n,) placements
    gradient = np.bincount(patient, weights=beaten, minlength=test.patients)  # (P,)

    middle = up_below / up.sum() + down_below / down.sum()  # (levels,) in (0, 2): rare positives get their own bins
    count = max(FEWEST_BINS, CELLS // test.patients)  # B
    bins = (middle * (count / 2)).astype(np.intp)[level]  # (n,)
    place = (patient + sign * test.patients) * count + bins
    histograms = np.bincount(place, minlength=2 * test.patients * count).astype(np.float32)
    below, above = histograms.reshape(2, test.patients, count)  # (P, B) negatives, (P, B) positives
    won_over = np.cumsum(below, axis=1) - below / 2  # (P, B)
    curvature = np.einsum("rb,rb->r", test.excess @ above, test.excess @ won_over)  # (1+R,)
    return np.asarray(beaten[sign].sum() + test.excess @ gradient.astype(np.float32) + curvature)
