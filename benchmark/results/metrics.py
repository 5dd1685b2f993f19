"""METRICS: names, titles and definitions of the scores, the lines of a test set, and when a score is undefined.

A metric is one entry of `METRICS`: a function of the `Lines` of a test set. Stored scores use plain lines; statistics
use R resamples of the test patients (reports.statistics.bootstrap), 1+R values at once. A score that cannot be
computed is None with its reason, never 0.

Macro AUROC leaves out a class without a test window. Macro F1 leaves it out too, unless it is predicted: then its F1 is
0. So rows of one column of a table may be means over different classes.

Scores of one class follow from the order of its lines (AUROC, average precision, sensitivity at 90 % specificity). Only
the K distinct probabilities that a positive line has matter. Counts may be of several weightings of the lines at once
(resamples of the patients): then arrays have a further axis. The calibration error (Guo et al., 2017, "On calibration
of modern neural networks") has 15 bins of equal width; a probability on an edge belongs to the lower bin, as in
scikit-learn's `calibration_curve`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import HEARTBEAT, OVERALL, RECORDING, Pool

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


def average_precisions(lines: Lines) -> Values:
    """(..., C) average precision of each class against the rest; NaN if the truth lacks either sign."""
    return lines.ranked(average_precision)[0]


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


def means_by(group: NDArray[np.intp], probability: Floats) -> Floats:
    """(G, C) means of (n, C) probabilities over the lines of each of G groups, in float64; no group is empty."""
    counts = np.bincount(group)  # (G,)
    total = [np.bincount(group, weights=column) for column in probability.T]  # C of (G,)
    return (np.stack(total, axis=1) / counts[:, None]).astype(np.float32)


def pooled_by(group: NDArray[np.intp], probability: Floats, pool: Pool) -> Floats:
    """(G, C) means or maxima of (n, C) probabilities over the lines of each of G groups; no group is empty."""
    if pool == "mean" or not len(group):
        return means_by(group, probability)
    order = np.argsort(group, kind="stable")  # (n,)
    first = np.flatnonzero(np.diff(group[order], prepend=-1))  # (G,)
    return np.asarray(np.maximum.reduceat(probability[order], first, axis=0))


def per_recording(
    probability: Floats, truth: Ints, recording: Sequence[str] | NDArray[np.str_], pool: Pool = "mean"
) -> tuple[Floats, Ints, NDArray[np.str_]]:
    """Pooled probability (R, C), truth (R, C) and name (R,) of the recordings of n windows, sorted by name."""
    names, first, inverse = np.unique(np.asarray(recording), return_index=True, return_inverse=True)
    return pooled_by(inverse, probability, pool), truth[first], names


NO_WINDOW = "no test window"


Kind = Literal["column", "beside", "further"]
"""'column': in the results tables, resampled and tested; 'beside': in rows and cells.csv only; 'further': in no row,
computed by reports from the stored predictions."""


@dataclass(frozen=True)
class Metric:
    """One metric in [0, 1]."""

    name: str
    """Name in rows and CSV files."""
    title: str
    """Column heading."""
    words: str
    """Name in running text."""
    kind: Kind
    of: Callable[[Lines], Values]
    """(...) values, NaN where undefined."""
    undefined: str
    """Why it can be undefined."""
    multi_alone: bool = False
    """Defined for multi-label tasks only."""
    lower_is_better: bool = False


@dataclass(frozen=True)
class Scores:
    """Metrics in [0, 1], and the reason for each that is None."""

    values: dict[str, float | None]
    undefined: dict[str, str]


NO_BOTH = "no class has both signs in the test set"
METRICS = {
    metric.name: metric
    for metric in (
        Metric("f1", "F1", "macro F1", "column", f1, "no class in truth or prediction"),
        Metric("auroc", "AUROC", "macro AUROC", "column", auroc, NO_BOTH),
        Metric("acc", "ACC", "ACC", "column", accuracy, NO_WINDOW),
        Metric("acc_per_label", "ACC per label", "ACC per label", "beside", label_accuracy, NO_WINDOW, True),
        Metric("auprc", "AUPRC", "macro AUPRC", "further", auprc, NO_BOTH),
        Metric("sens90", "Sens@90", "macro sensitivity at 90 % specificity", "further", sensitivity_at, NO_BOTH),
        Metric("brier", "Brier", "macro Brier score", "further", brier, NO_BOTH, lower_is_better=True),
        Metric("ece", "ECE", "ECE", "further", ece, NO_WINDOW, lower_is_better=True),
    )
}
"""All metrics, in the order of a table's columns."""
COLUMNS = tuple(name for name, metric in METRICS.items() if metric.kind == "column")
"""Metrics of the results tables."""
FURTHER = tuple(name for name, metric in METRICS.items() if metric.kind == "further")
"""Metrics that reports compute from the stored predictions."""
TITLES = {name: metric.title for name, metric in METRICS.items()} | {OVERALL: "Overall"}
"""Titles of the metrics and of the mean of a table's columns."""
CLASS_SCORES = ("auroc", "auprc", "f1", "sens90", "brier", "ece")
"""Scores of a single class, in the order of a table's columns; each a metric's name, the metric their macro mean."""


def class_scores(lines: Lines) -> dict[str, Values]:
    """(..., C) values of `CLASS_SCORES`; NaN where undefined. `class_f1` is defined without a line of the class too."""
    areas, precisions, sensitivities = lines.ranked(roc_area, average_precision, sensitivity)
    own = (areas, precisions, class_f1(lines), sensitivities, class_brier(lines), class_ece(lines))
    return dict(zip(CLASS_SCORES, own, strict=True))


def macro_f1(probability: Floats, truth: Ints, *, multi: bool) -> float | None:
    """Macro F1 of (n, C) probabilities; None where no class is in truth or prediction."""
    return _number(f1(Lines(truth, probability, multi)))


def no_scores(reason: str, *, multi: bool) -> Scores:
    """All metrics undefined, for the same reason."""
    names = [metric.name for metric in stored(multi=multi)]
    return Scores(dict.fromkeys(names), dict.fromkeys(names, reason))


def stored(*, multi: bool) -> list[Metric]:
    """The metrics stored in a row."""
    there = [metric for metric in METRICS.values() if metric.kind != "further"]
    return [metric for metric in there if multi or not metric.multi_alone]


def score(probability: Floats, truth: Ints, *, multi: bool) -> Scores:
    """All metrics of (n, C) probabilities against an (n, C) multi-hot truth."""
    if not len(truth):
        return no_scores(NO_WINDOW, multi=multi)
    lines = Lines(truth, probability, multi)
    values = {metric.name: _number(metric.of(lines)) for metric in stored(multi=multi)}
    return Scores(values, {name: METRICS[name].undefined for name, value in values.items() if value is None})


def _number(value: Values) -> float | None:
    return None if np.isnan(value) else float(value)


def score_both_units(
    probability: Floats, truth: Ints, recording: NDArray[np.str_], *, multi: bool, pool: Pool = "mean"
) -> dict[str, Scores]:
    """Scores per heartbeat and per recording."""
    pooled, pooled_truth, _ = per_recording(probability, truth, recording, pool)
    return {
        HEARTBEAT: score(probability, truth, multi=multi),
        RECORDING: score(pooled, pooled_truth, multi=multi),
    }


UNTESTED = "no test window of class"
"""How the note on classes without a test window begins."""
F1_OVER = "macro F1"
"""How a note on the classes of macro F1 begins."""


def macro_notes(
    probability: Floats,
    truth: Ints,
    recording: NDArray[np.str_],
    classes: Sequence[str],
    *,
    multi: bool,
    pool: Pool,
) -> list[str]:
    """Notes on (n, C) probabilities of n windows; none where every class has a test window."""
    windows = np.asarray(truth.sum(axis=0))  # (C,)
    absent = _named(classes, windows == 0)
    if not absent:
        return []
    scored = _named(classes, (windows > 0) & (windows < len(truth)))
    notes = [f"{UNTESTED} {absent}{f': macro AUROC is over {scored}' if scored else ''}"]
    pooled, pooled_truth, _ = per_recording(probability, truth, recording, pool)
    units = {HEARTBEAT: (probability, truth), RECORDING: (pooled, pooled_truth)}
    over = {unit: _f1_over(*scores, classes, multi=multi) for unit, scores in units.items()}
    if over[HEARTBEAT] == over[RECORDING]:
        return [*notes, f"{F1_OVER} is {over[HEARTBEAT]}"]
    return [*notes, *(f"{F1_OVER} per {unit} is {words}" for unit, words in over.items())]


def _f1_over(probability: Floats, truth: Ints, classes: Sequence[str], *, multi: bool) -> str:
    """'over NORM, MI' and which of these count 0, being predicted without a test window."""
    there = np.asarray(truth.any(axis=0))  # (C,)
    predicted = np.asarray(decide(probability, multi=multi).any(axis=0))  # (C,)
    zeros = _named(classes, predicted & ~there)
    counted = f"over {_named(classes, there | predicted)}"
    return f"{counted}, with 0 for {zeros}, predicted without a test window" if zeros else counted


def _named(classes: Sequence[str], chosen: NDArray[np.bool_]) -> str:
    return ", ".join(name for name, is_chosen in zip(classes, chosen, strict=True) if is_chosen)
