"""Scores of all cells of a table's column under the same resamples of its test patients.

A column is a metric on a dataset, or Overall, the mean of these; its cells are the variants x seeds at one label ratio.
Intervals, tests and components are all computed from these scores. The caller chooses the cells, and so the rows that
are compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import OVERALL
from benchmark.results.plan import PlannedCell
from benchmark.results.rows import Predictions
from reports.runs.run import Run
from reports.statistics.bootstrap import resampled_scores
from reports.statistics.test_set import Floats, resampled_test_set

T = TypeVar("T")
RESAMPLES = 2000

Scored = Mapping[str, Floats]
"""Metric -> (1+R,) scores of one cell."""


class UnequalTestSets(Exception):
    """Two cells of one dataset have different test windows; the message names both."""


@dataclass(frozen=True)
class ScoreColumn:
    """Scores of V variants x S seeds in one column at one label ratio, on the test set and R resamples."""

    unit: str
    ratio: float
    dataset: str
    """'' for Overall."""
    metric: str
    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    patients: int
    """Number of test patients; for Overall, the smallest of its datasets."""
    encoders: NDArray[np.str_]
    """(V, S) key of each cell's pretrained encoder; '' without one or where the cell is missing."""
    scores: Floats
    """(V, S, 1+R) in [0, 1]: the test set, then its resamples. NaN where a cell is missing or a score undefined."""


def score_columns(
    run: Run,
    cells: Sequence[PlannedCell],
    unit: str,
    *,
    metrics: Sequence[str] = COLUMNS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[ScoreColumn]:
    """The columns of some cells in one score unit, by label ratio; Overall is the last of each ratio.

    unit: 'heartbeat' or 'recording'. cells: those of one table, at most one per variant, dataset, ratio and seed.
    metrics: its columns on each dataset. Raises UnequalTestSets.
    """
    at = partial(columns_at, run, cells, unit=unit, metrics=metrics, resamples=resamples, seed=seed)
    return [column for ratio in dict.fromkeys(cell.ratio for cell in cells) for column in at(ratio)]


def columns_at(
    run: Run,
    cells: Sequence[PlannedCell],
    ratio: float,
    unit: str,
    *,
    metrics: Sequence[str] = COLUMNS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[ScoreColumn]:
    """The columns at one label ratio of the cells, Overall last; arguments as for `score_columns`.

    The scores of one ratio are what has to be in memory at a time. Raises UnequalTestSets.
    """
    seeds = tuple(sorted({cell.seed for cell in cells}))
    planned = {cell.variant for cell in cells if cell.ratio == ratio}
    variants = tuple(variant for variant in run.plan.variants if variant in planned)
    columns: list[ScoreColumn] = []
    for dataset in run.plan.datasets:
        own = [cell for cell in cells if cell.dataset == dataset and cell.key in run.rows]
        there = [cell for cell in own if cell.ratio == ratio]
        if not there:
            continue
        scored, patients = _scored(run, there, own[0].key, unit, metrics, resamples, seed)
        keys = {cell: np.array(run.rows[cell.key].pretrain_key) for cell in there}
        encoders = _laid_out(keys, variants, seeds, np.array(""))  # (V, S)
        for metric in metrics:
            values = {cell: scored[cell.key][metric] for cell in there}
            scores = _laid_out(values, variants, seeds, np.full(1 + resamples, np.nan))  # (V, S, 1+R)
            columns.append(ScoreColumn(unit, ratio, dataset, metric, variants, seeds, patients, encoders, scores))
    return [*columns, *_overall(columns)]


def _scored(
    run: Run, cells: Sequence[PlannedCell], first: str, unit: str, metrics: Sequence[str], resamples: int, seed: int
) -> tuple[dict[str, Scored], int]:
    """Cell key -> its scores under the resamples of the test set of the cell `first`; and its number of patients."""
    expected = run.store.predictions(first)
    test = resampled_test_set(expected, unit, resamples=resamples, seed=seed, pool=run.plan.pool)

    def score(own: Predictions, labels: str) -> Scored:
        return resampled_scores(test, own.probability, multi=labels == "multi", metrics=metrics)

    return of_each(run, [cell.key for cell in cells], first, score), test.patients


def of_each(run: Run, keys: Sequence[str], first: str, of: Callable[[Predictions, str], T]) -> dict[str, T]:
    """Cell key -> what `of` its predictions and kind of labels is, for cells tested as the cell `first`.

    Raises UnequalTestSets.
    """
    expected = run.store.predictions(first)

    def one(key: str) -> T:
        row, found = run.rows[key], run.store.predictions(key)
        _must_agree(expected, found, first, key, row.dataset)
        return of(found, row.labels)

    own = list(dict.fromkeys(keys))
    # One BLAS thread per cell: more would contend, and could change the order of summation.
    with threadpool_limits(1), ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(zip(own, pool.map(one, own), strict=True))


def _must_agree(expected: Predictions, found: Predictions, first: str, key: str, dataset: str) -> None:
    """Raise UnequalTestSets unless two cells have the same test windows in the same order."""
    for name in ("patient", "recording", "truth"):
        if not np.array_equal(getattr(expected, name), getattr(found, name)):
            raise UnequalTestSets(
                f"cells {first} and {key} were tested on different windows of {dataset} ({name} differs): their "
                "difference cannot be paired; run the plan again on one version of the data"
            )


def _laid_out(
    values: Mapping[PlannedCell, NDArray[Any]], variants: Sequence[str], seeds: Sequence[int], missing: NDArray[Any]
) -> NDArray[Any]:
    """(V, S, ...) values by variant and seed."""
    places = {(cell.variant, cell.seed): value for cell, value in values.items()}
    return np.array([[places.get((variant, seed), missing) for seed in seeds] for variant in variants])


def _overall(columns: Sequence[ScoreColumn]) -> list[ScoreColumn]:
    """The mean of one ratio's columns with a score of any variant; datasets are resampled independently.

    Columns of further metrics do not count.
    """
    counting = [column for column in columns if column.metric in COLUMNS]
    filled = [column for column in counting if np.isfinite(column.scores[..., 0]).any()]
    if not filled:
        return []
    mean = np.zeros_like(filled[0].scores)  # (V, S, 1+R)
    for column in filled:  # one by one, since a stack would double what is in memory
        mean += column.scores
    mean /= len(filled)
    first, fewest = filled[0], min(column.patients for column in filled)
    return [replace(first, dataset="", metric=OVERALL, patients=fewest, scores=mean)]
