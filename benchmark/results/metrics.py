"""The metrics: names, titles, kinds, definitions, and when each is undefined. Pure functions.

A metric is one entry of `METRICS`: a function of the `Lines` of a test set. Stored scores use plain lines; statistics
use R resamples of the test patients (reports.statistics.bootstrap), 1+R values at once. A score that cannot be
computed is None with its reason, never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import HEARTBEAT, OVERALL, RECORDING, Pool
from benchmark.results.scoring.definitions import (
    accuracy,
    auprc,
    auroc,
    brier,
    class_brier,
    class_ece,
    class_f1,
    ece,
    f1,
    label_accuracy,
    sensitivity_at,
)
from benchmark.results.scoring.lines import Floats, Ints, Lines, Values
from benchmark.results.scoring.pooling import per_recording
from benchmark.results.scoring.ranking import (
    average_precision,
    roc_area,
    sensitivity,
)

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
