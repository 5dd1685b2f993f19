"""Scores of a test set with each patient left out, the delete-one-patient jackknife: exact, without random draws.

Patients, not windows, are left out, because the windows of one patient are dependent. Each score is that of
`benchmark.results.metrics` on the patients that remain: sums over lines less those of the patient; AUROC by the pairs
of a positive and a negative line that the patient is part of (placements of DeLong et al., 1988, "Comparing the areas
under two or more correlated receiver operating characteristic curves"); average precision on lines
that are sorted once. A macro score is the mean over the same classes whoever is left out: a class that is undefined
without a patient, its only positive one, counts there with its score on the whole test set.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.results.arrays import Bools, Doubles, Floats, Ints, Positions
from benchmark.results.metrics import COLUMNS, METRICS, RECALLS, decide, pooled_by, shares
from benchmark.results.store import Predictions

LARGEST = 4_000_000
"""Comparisons of lines that are held at a time."""
Score = Callable[[Ints, Floats, Positions, bool], Doubles]
"""Truth and probability (n, C), patient (n,), whether a line can have several labels -> (1 + P,) or (1 + P, C)."""


def leave_one_out(
    predictions: Predictions, metrics: Sequence[str], *, multi: bool, classes: Bools | None = None
) -> dict[str, Doubles]:
    """Score predictions on the whole test set, then without each of its P patients, sorted by name: metric -> (1 + P,).

    classes: (C,) those that count in macro means; by default all that have a score. NaN: the score is undefined.
    """
    probability, truth, part = predictions.probability, predictions.truth, predictions.part
    _, patient = np.unique(predictions.patient, return_inverse=True)  # (n,)
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean over no class is NaN
        for name in metrics:
            score = SCORES[name]
            if part is not None and name in METRICS and METRICS[name].is_ranking:
                score = by_part(score, part, classes)
            values = score(truth, probability, patient, multi)  # (1 + P,) or (1 + P, C)
            scores[name] = macro_means(values, classes)
    return scores


def with_contributions(left_out: Doubles) -> Doubles:
    """Return (1 + P,) of a score with each patient left out: the score, then what each patient adds to its error.

    These are the centred pseudo-values over sqrt(P (P - 1)): their sum of squares is the variance of the jackknife
    (Efron and Stein, 1981), and those of one patient in several scores add up before they are squared.
    """
    without = left_out[1:]
    patients = len(without)
    scale = np.sqrt(1 - 1 / patients) if patients > 1 else np.nan
    return np.append(left_out[0], scale * (without.sum() / max(1, patients) - without))


def macro_means(values: Doubles, classes: Bools | None) -> Doubles:
    """Return the means (1 + P,) of scores (1 + P,) or (1 + P, C) over the same classes, whoever is left out.

    Where no class is defined without a patient, neither is their mean.
    """
    by_class = values.reshape(len(values), -1)  # (1 + P, C)
    if classes is not None and by_class.shape[1] == len(classes) > 1:
        by_class = np.where(classes, by_class, np.nan)
    is_undefined = np.isnan(by_class)
    is_held = is_undefined & ~is_undefined.all(axis=1, keepdims=True)
    held = np.where(is_held, by_class[0], by_class)
    return np.asarray(np.nanmean(held, axis=1))


def by_part(score: Score, part: Ints, classes: Bools | None) -> Score:
    """Return the mean (1 + P,) of a score over parts (n,), each of patients of its own; one without a score is none."""

    def mean(truth: Ints, probability: Floats, patient: Positions, multi: bool) -> Doubles:
        less = np.zeros(1 + patient.max() + 1)  # (1 + P,) by how much the sum over parts is lower
        total, parts = 0.0, 0
        for number in np.unique(part):
            is_in_part = part == number
            truth_in, probability_in = truth[is_in_part], probability[is_in_part]
            patients, patient_in = np.unique(patient[is_in_part], return_inverse=True)
            values = macro_means(score(truth_in, probability_in, patient_in, multi), classes)  # (1 + its patients,)
            if np.isfinite(values[0]):
                total += values[0]
                parts += 1
                less[1 + patients] = values[0] - values[1:]
        if parts == 0:
            return np.full(less.shape, np.nan)
        return np.asarray((total - less) / parts)

    return mean


def f1(truth: Ints, probability: Floats, patient: Positions, multi: bool) -> Doubles:
    """Compute F1 of each class; NaN for one in neither truth nor decision."""
    decided = decide(probability, multi=multi)
    hits = _sums(truth * decided, patient)  # (1 + P, C)
    return shares(2 * hits, _sums(truth + decided, patient))


def accuracy(truth: Ints, probability: Floats, patient: Positions, multi: bool) -> Doubles:
    """Compute the share of the lines with all labels right."""
    is_right = (decide(probability, multi=multi) == truth).all(axis=1)  # (n,)
    return _mean(is_right[:, None], patient)


def brier(truth: Ints, probability: Floats, patient: Positions, multi: bool) -> Doubles:
    """Compute the mean squared error of the probability of each class; NaN without both signs."""
    positives = _sums(truth, patient)
    lines = _sums(np.ones_like(truth), patient)
    error = _sums((probability.astype(np.float64) - truth) ** 2, patient)
    has_both_signs = (positives > 0) & (positives < lines)
    return np.where(has_both_signs, shares(error, lines), np.nan)


def mean_of(column: int) -> Score:
    """Return the score that is the mean over patients of the mean of a column of their predictions."""

    def score(truth: Ints, hits: Floats, patient: Positions, multi: bool) -> Doubles:
        means = pooled_by(patient, hits[:, [column]], "mean")  # (P, 1)
        return _mean(means, np.arange(len(means)))

    return score


def by_class(ranking: Callable[[Bools, Floats, Positions], Doubles]) -> Score:
    """Return the score that ranks each class against the rest; NaN without both signs."""

    def score(truth: Ints, probability: Floats, patient: Positions, multi: bool) -> Doubles:
        columns = zip(truth.T == 1, probability.T, strict=True)  # (n,) each
        values = [ranking(is_positive, column, patient) for is_positive, column in columns]
        return np.stack(values, axis=1)  # (1 + P, C)

    return score


def _sums(values: NDArray[np.generic], patient: Positions) -> Doubles:
    """Sum values (n, K) over all lines, then over those of all patients but one: (1 + P, K)."""
    by_patient = np.stack([np.bincount(patient, weights=column) for column in values.T], axis=1)  # (P, K)
    total = by_patient.sum(axis=0)
    return np.vstack([total, total - by_patient])


def _mean(values: NDArray[np.generic], patient: Positions) -> Doubles:
    """Average values (n, 1) over all lines, then over those of all patients but one: (1 + P, 1)."""
    lines = _sums(np.ones_like(values), patient)
    return shares(_sums(values, patient), lines)


def _area(positive: Bools, score: Floats, patient: Positions) -> Doubles:
    """Compute the area under the ROC curve (1 + P,): share of the pairs that the positive line wins, ties half."""
    positives = np.sort(score[positive])
    negatives = np.sort(score[~positive])
    won_as_positive = _number_below(negatives, score)  # (n,)
    lost_as_negative = len(positives) - _number_below(positives, score)  # (n,)
    won = np.where(positive, won_as_positive, lost_as_negative)  # pairs of the line that the positive one wins
    with_each = np.bincount(patient, weights=won)  # (P,) counts the pairs within a patient twice
    of_patient = with_each - _pairs_within(positive, score, patient)  # (P,)
    total = won[positive].sum()
    signs = np.stack([positive, ~positive], axis=1)
    pairs = _sums(signs, patient).prod(axis=1)  # (1 + P,)
    return shares(np.append(total, total - of_patient), pairs)


def _pairs_within(positive: Bools, score: Floats, patient: Positions) -> Doubles:
    """Count the pairs of two lines of each patient that the positive line wins, ties half: (P,)."""
    values, rank = np.unique(score, return_inverse=True)  # (n,)
    order = patient * len(values) + rank  # (n,) rises by patient, then by score
    negatives = np.bincount(patient, weights=~positive)  # (P,)
    of_patients_before = np.cumsum(negatives) - negatives  # (P,)
    won = _number_below(np.sort(order[~positive]), order[positive]) - of_patients_before[patient[positive]]
    return np.asarray(np.bincount(patient[positive], weights=won, minlength=len(negatives)), np.float64)


def _number_below(ordered: NDArray[np.generic], score: NDArray[np.generic]) -> Doubles:
    """Count the values, in rising order, that are below each score (n,), an equal one as half."""
    below = np.searchsorted(ordered, score, "left")
    up_to = np.searchsorted(ordered, score, "right")
    return np.asarray((below + up_to) / 2)


def _average_precision(positive: Bools, score: Floats, patient: Positions) -> Doubles:
    """Compute the mean over the positive lines of the precision at their probability: (1 + P,)."""
    by_patient = np.argsort(patient, kind="stable")  # (n,)
    positive, score, patient = positive[by_patient], score[by_patient], patient[by_patient]
    starts = np.flatnonzero(np.diff(patient, prepend=-1))  # (P,) first line of each patient
    precision = np.zeros(1 + len(starts))  # (1 + P,) sums over positive lines
    for lines in np.array_split(np.flatnonzero(positive), 1 + positive.sum() * len(score) // LARGEST):
        is_above = score >= score[lines][:, None]  # (k, n) lines at or above the score of a positive one
        counts = np.add.reduceat(is_above, starts, axis=1, dtype=np.int64)  # (k, P) those of each patient
        hits = np.add.reduceat(is_above & positive, starts, axis=1, dtype=np.int64)  # (k, P)
        every = counts.sum(axis=1, keepdims=True)  # (k, 1)
        every_hit = hits.sum(axis=1, keepdims=True)  # (k, 1)
        is_other = patient[lines][:, None] != np.arange(len(starts))  # (k, P)
        of_others = shares(every_hit - hits, np.maximum(every - counts, 1)) * is_other
        precision[0] += (every_hit / every).sum()
        precision[1:] += of_others.sum(axis=0)
    signs = _sums(np.stack([positive, ~positive], axis=1), patient)  # (1 + P, 2)
    precision[signs.min(axis=1) == 0] = np.nan
    return shares(precision, signs[:, 0])


SCORES: dict[str, Score] = {
    "f1": f1,
    "auroc": by_class(_area),
    "acc": accuracy,
    "auprc": by_class(_average_precision),
    "brier": brier,
}
SCORES |= {name: mean_of(column) for column, name in enumerate(RECALLS)}
"""Metric -> its values by class with each patient left out."""
JACKKNIFED = (*COLUMNS, "auprc", "brier")
"""Metrics with intervals and tests; the jackknife is not valid for thresholds and bins."""
