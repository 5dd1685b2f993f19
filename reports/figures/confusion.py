"""Confusion matrices from stored predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import Pool
from benchmark.results.rows import Predictions
from benchmark.results.scoring.lines import decide
from reports.runs.run import Run
from reports.statistics.test_set import pooled, resampled_test_set


@dataclass(frozen=True)
class Confusion:
    """One row's decisions on one test set, summed over seeds."""

    variant: str
    seeds: int
    counts: NDArray[np.int64]
    """(C, C) true class by predicted class."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """(C, C) percent of each true class; NaN for a class absent from the test set."""
        total = self.counts.sum(axis=1, keepdims=True)  # (C, 1)
        return np.where(total > 0, 100 * self.counts / np.maximum(total, 1), np.nan)


def confusions(
    run: Run, variants: Sequence[str], *, evaluation: str, dataset: str, ratio: float, unit: str
) -> list[Confusion]:
    """One per row with a finished cell there; none for multi-label tasks. unit: 'heartbeat' or 'recording'."""
    keys: dict[str, list[str]] = {}
    for cell in run.plan.cells:
        if (cell.evaluation, cell.dataset, cell.ratio) == (evaluation, dataset, ratio) and cell.key in run.rows:
            keys.setdefault(cell.variant, []).append(cell.key)
    if any(run.rows[key].labels != "single" for own in keys.values() for key in own):
        return []
    found = {
        variant: [confusion(run.store.predictions(key), unit, run.plan.pool) for key in keys[variant]]
        for variant in variants
        if variant in keys
    }
    return [
        Confusion(variant, len(counts), np.sum(counts, axis=0)) for variant, counts in found.items() if np.any(counts)
    ]


def confusion(predictions: Predictions, unit: str, pool: Pool = "mean") -> NDArray[np.int64]:
    """(C, C) counts of true class by most probable class; a recording has the pooled probability of its windows."""
    test = resampled_test_set(predictions, unit, resamples=0, pool=pool)
    decisions = decide(pooled(test, predictions.probability), multi=False)  # (n, C)
    return np.asarray(test.truth.T @ decisions)
