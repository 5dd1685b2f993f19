"""METRICS: names, titles and definitions of the scores, and when each is undefined.

A metric is one entry of `METRICS`: a function of the `Lines` of a test set. Stored scores use plain lines; statistics
use R resamples of the test patients (reports.statistics.bootstrap), 1+R values at once. A score that cannot be
computed is None with its reason, never 0.

Macro AUROC leaves out a class without a test window. Macro F1 leaves it out too, unless it is predicted: then its F1 is
0. So rows of one column of a table may be means over different classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.results.lines import (
    Floats,
    Ints,
    Lines,
    Values,
    average_precision,
    bins_of,
    decide,
    macro,
    roc_area,
    sensitivity,
    share,
)
from benchmark.results.names import HEARTBEAT, OVERALL, RECORDING, Pool


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
