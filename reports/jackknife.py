"""Scores of a test set with each patient left out, the delete-one-patient jackknife: exact, without random draws.

Patients, not windows, are left out, because the windows of one patient are dependent. Each score is that of
`benchmark.results.metrics` on the patients that remain: sums over lines less those of the patient; AUROC by the pairs
of a positive and a negative line that the patient is part of (placements of DeLong et al., 1988, "Comparing the areas
under two or more correlated receiver operating characteristic curves"); average precision by the counts above each
positive line. A class that is undefined without a patient leaves the mean there, as it does on a test set without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.results.metrics import decide, per_recording
from benchmark.results.names import HEARTBEAT, Pool
from benchmark.results.store import Predictions

Floats = NDArray[np.float64]
Score = Callable[[NDArray[np.int64], NDArray[np.float32], NDArray[np.intp], bool], Floats]
"""Truth and probability (n, C), patient (n,), whether a line can have several labels -> (1 + P,) or (1 + P, C)."""
MAX_ELEMENTS = 4_000_000
"""Of a matrix of levels x patients that is held at a time."""


def leave_one_out(
    predictions: Predictions, unit: str, metrics: Sequence[str], *, multi: bool, pool: Pool = "mean"
) -> dict[str, Floats]:
    """Score predictions on the whole test set, then without each of its P patients, sorted by name: metric -> (1 + P,).

    unit: 'heartbeat' or 'recording', whose probability is pooled over its windows. metrics: of `JACKKNIFED`. NaN: the
    score is undefined.
    """
    probability, truth, owner = predictions.probability, predictions.truth, predictions.patient
    if unit != HEARTBEAT:
        owner = owner[np.unique(predictions.recording, return_index=True)[1]]  # (n,)
        probability, truth, _ = per_recording(probability, truth, predictions.recording, pool)
    patient = np.unique(owner, return_inverse=True)[1]  # (n,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean over no class is NaN
        scores = {name: JACKKNIFED[name](truth, probability, patient, multi) for name in metrics}
        return {name: np.nanmean(values.reshape(len(values), -1), axis=1) for name, values in scores.items()}


def f1(truth: NDArray[np.int64], probability: NDArray[np.float32], patient: NDArray[np.intp], multi: bool) -> Floats:
    """F1 of each class; NaN for one in neither truth nor decision."""
    decided = decide(probability, multi=multi)
    hits = _sums(truth * decided, patient)  # (1 + P, C)
    return _ratio(2 * hits, _sums(truth + decided, patient))


def auroc(truth: NDArray[np.int64], probability: NDArray[np.float32], patient: NDArray[np.intp], multi: bool) -> Floats:
    """Area under the ROC curve of each class against the rest; NaN without both signs."""
    areas = [_area(sign == 1, score, patient) for sign, score in zip(truth.T, probability.T, strict=True)]
    return np.stack(areas, axis=1)  # (1 + P, C)


def accuracy(
    truth: NDArray[np.int64], probability: NDArray[np.float32], patient: NDArray[np.intp], multi: bool
) -> Floats:
    """Share of the lines with all labels right."""
    right = (decide(probability, multi=multi) == truth).all(axis=1)[:, None]  # (n, 1)
    return _ratio(_sums(right, patient), _sums(np.ones_like(right), patient))


def auprc(truth: NDArray[np.int64], probability: NDArray[np.float32], patient: NDArray[np.intp], multi: bool) -> Floats:
    """Average precision of each class; NaN without both signs."""
    values = [_average_precision(sign == 1, score, patient) for sign, score in zip(truth.T, probability.T, strict=True)]
    return np.stack(values, axis=1)  # (1 + P, C)


def brier(truth: NDArray[np.int64], probability: NDArray[np.float32], patient: NDArray[np.intp], multi: bool) -> Floats:
    """Mean squared error of the probability of each class; NaN without both signs."""
    error = _ratio(_sums((probability.astype(np.float64) - truth) ** 2, patient), _sums(np.ones(truth.shape), patient))
    positives, negatives = _sums(truth, patient), _sums(1 - truth, patient)
    return np.where((positives > 0) & (negatives > 0), error, np.nan)


JACKKNIFED: dict[str, Score] = {"f1": f1, "auroc": auroc, "acc": accuracy, "auprc": auprc, "brier": brier}
"""Metric -> its values by class with each patient left out. The jackknife is not valid for thresholds and bins."""


def _sums(values: NDArray[np.generic], patient: NDArray[np.intp]) -> Floats:
    """(1 + P, K) sums of (n, K) values over all lines, then over those of all patients but one."""
    by_patient = np.stack([np.bincount(patient, weights=column) for column in values.T], axis=1)  # (P, K)
    total = by_patient.sum(axis=0)
    return np.vstack([total, total - by_patient])


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0))


def _area(positive: NDArray[np.bool_], score: NDArray[np.float32], patient: NDArray[np.intp]) -> Floats:
    """(1 + P,) share of the pairs of a positive and a negative line that the positive wins, ties half."""
    signs = np.stack([positive, ~positive], axis=1)
    ranked = [np.sort(score[sign]) for sign in signs.T]  # positives, negatives
    below, level = (
        [np.searchsorted(values, score, side) for values in reversed(ranked)] for side in ("left", "right")
    )  # of the negatives, then of the positives
    won_by, lost_by = ((one + other) / 2 for one, other in zip(below, level, strict=True))  # (n,) each
    won = np.where(positive, won_by, ranked[0].size - lost_by)  # pairs that the line is part of and the positive wins
    without = np.bincount(patient, weights=won)  # (P,) counts the pairs within a patient twice
    lines = np.argsort(patient, kind="stable")
    for group in np.split(lines, np.cumsum(np.bincount(patient))[:-1]):
        if 0 < positive[group].sum() < len(group):
            pairs = score[group][positive[group]][:, None] - score[group][~positive[group]]
            without[patient[group[0]]] -= (pairs > 0).sum() + (pairs == 0).sum() / 2
    total = won[positive].sum()
    return _ratio(np.append(total, total - without), _sums(signs, patient).prod(axis=1))


def _average_precision(positive: NDArray[np.bool_], score: NDArray[np.float32], patient: NDArray[np.intp]) -> Floats:
    """(1 + P,) mean over the positive lines of the precision at their probability."""
    patients = int(patient.max(initial=-1)) + 1
    levels = np.unique(score[positive])[::-1]  # (K,) the highest first
    level = len(levels) - np.searchsorted(levels[::-1], score, side="right")  # (n,) K below all positives
    counts = _sums(np.stack([positive, ~positive], axis=1), patient)  # (1 + P, 2)
    values = np.empty(1 + patients)
    step = max(1, MAX_ELEMENTS // max(1, len(levels)))
    hits, every = (np.bincount(level[chosen], minlength=len(levels) + 1)[:-1] for chosen in (positive, positive | True))
    values[0] = _precision(hits[:, None], every[:, None])[0]
    for first in range(0, patients, step):
        within = (patient >= first) & (patient < first + step)
        count = min(step, patients - first)
        bins = level * count + patient - first
        by_patient = [
            np.bincount(bins[within & chosen], minlength=(len(levels) + 1) * count)[: len(levels) * count]
            for chosen in (positive, positive | True)
        ]
        rest = [total[:, None] - part.reshape(-1, count) for total, part in zip((hits, every), by_patient, strict=True)]
        values[1 + first : 1 + first + count] = _precision(*rest)
    return np.where((counts > 0).all(axis=1), values / np.maximum(counts[:, 0], 1), np.nan)


def _precision(hits: NDArray[np.intp], every: NDArray[np.intp]) -> Floats:
    """Sum over the positive lines of the precision at their level, of (K, P) lines on each level."""
    above, hit = np.cumsum(every, axis=0), np.cumsum(hits, axis=0)
    return np.asarray((hits * hit / np.maximum(above, 1)).sum(axis=0))
