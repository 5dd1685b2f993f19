"""The bootstrap of test patients, and the scores of cells on every resample.

Patients, not windows, are drawn with replacement, since the windows of one patient are dependent (Field and Welsh,
2007, "Bootstrapping clustered data"). The draws are seeded by the patients' names, so every method, seed, label ratio
and score unit has the same resamples.

The metrics of one cell on its test set and on every resample of the test patients.

They are those of benchmark.results.metrics, which also computes the stored scores; each sum over lines becomes 1+R
sums, from sums by patient. A class absent from a resample is left out of its mean, not counted as zero.

AUROC counts the pairs with the positive above the negative, ties half. With weights w = 1 + e by patient the count is
p(w) = p(1) + g'e + e'Ae. The first two terms are exact (g sums the placements of DeLong et al., 1988); A, one entry
per pair of patients, is computed on B bins of the scores, where a pair within one bin counts half. Only pairs within a
bin are approximate, about 1/B of all, and their weights e_p e_q have mean zero.

Average precision and sensitivity are exact on the test set and where a class has few distinct probabilities; else
their changes from resample to resample are those on merged levels (benchmark.results.metrics).

Scores of all cells of a table's column under the same resamples of its test patients.

A column is a metric on a dataset, or Overall, the mean of these; its cells are the variants x seeds at one label ratio.
Where a seed has several labelled subsets, its score is the mean over these: encoders stay the unit of all tests.
Intervals, tests and components are all computed from these scores. The caller chooses the cells, and so the rows that
are compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmark.results.metrics import (
    COLUMNS,
    ECE_BINS,
    METRICS,
    Levels,
    Lines,
    Ranking,
    counted,
    merged,
    pooled_by,
    share,
)
from benchmark.results.names import HEARTBEAT, OVERALL, Pool, is_frozen
from benchmark.results.schema import digest
from benchmark.results.store import Plan, PlannedCell, Predictions
from reports.results import Results

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ResampledTestSet:
    """A test set in one score unit: n lines (windows or recordings) of P patients, and R resamples."""

    truth: NDArray[np.int64]
    """(n, C) multi-hot."""
    patient: NDArray[np.intp]
    """(n,) index of the line's patient among the P patients sorted by name."""
    recording: NDArray[np.intp] | None
    """(windows,) line into which a window is averaged; None where windows are the lines."""
    counts_minus_one: NDArray[np.float32]
    """(1+R, P) number of draws of a patient minus one. Line 0, the test set itself, is zero."""
    pool: Pool = "mean"
    """How the windows of a recording vote."""

    @property
    def patients(self) -> int:
        """P."""
        return int(self.counts_minus_one.shape[1])

    @cached_property
    def positives(self) -> Floats:
        """(1+R, C) number of lines of each class."""
        return resampled_sums(self, by_patient(self, self.truth))

    @cached_property
    def negatives(self) -> Floats:
        """(1+R, C) number of lines not of each class."""
        return resampled_sums(self, by_patient(self, 1 - self.truth))

    @cached_property
    def times(self) -> NDArray[np.float32]:
        """(P, 1+R) number of draws of a patient."""
        return np.ascontiguousarray(self.counts_minus_one.T) + np.float32(1)


def resampled_test_set(
    predictions: Predictions, unit: str, *, resamples: int, seed: int = 0, pool: Pool = "mean"
) -> ResampledTestSet:
    """The test set of some predictions, in the score unit 'heartbeat' or 'recording'."""
    names, patient = np.unique(predictions.patient, return_inverse=True)  # (P,), (windows,)
    counts_minus_one = bootstrap_counts(names, resamples, seed)  # (1+R, P)
    if unit == HEARTBEAT:
        return ResampledTestSet(predictions.truth, patient, None, counts_minus_one)
    _, first, recording = np.unique(predictions.recording, return_index=True, return_inverse=True)
    return ResampledTestSet(predictions.truth[first], patient[first], recording, counts_minus_one, pool)


def bootstrap_counts(names: NDArray[np.str_], resamples: int, seed: int) -> NDArray[np.float32]:
    """(1+R, P) draws of each patient minus one: a zero line, then R times P draws with replacement from P patients."""
    count = len(names)
    generator = np.random.default_rng(int(digest([names.tolist(), seed]), 16))
    drawn = generator.integers(max(count, 1), size=(resamples, count))  # (R, P)
    drawn += count * np.arange(resamples)[:, None]
    times = np.bincount(drawn.ravel(), minlength=resamples * count).reshape(resamples, count)  # (R, P)
    return np.vstack([np.zeros((1, count)), times - 1]).astype(np.float32)


def pooled(test: ResampledTestSet, probability: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, C) probabilities of the lines from (windows, C): a recording's is the mean or maximum over its windows."""
    if test.recording is None:
        return probability
    return pooled_by(test.recording, probability, test.pool)


def by_patient(test: ResampledTestSet, values: NDArray[Any]) -> Floats:
    """(P, K) sums of (n, K) values over the lines of each patient."""
    sums = [np.bincount(test.patient, weights=column, minlength=test.patients) for column in values.T]
    return np.stack(sums, axis=1)


def resampled_sums(test: ResampledTestSet, sums: Floats) -> Floats:
    """(1+R, K) sums over each resample from (P, K) sums by patient; exact for counts below 2^24."""
    return np.asarray(sums.sum(axis=0) + test.counts_minus_one @ sums.astype(np.float32))


FEWEST_BINS = 16
CELLS = 16_000
"""Patients x bins: with fewer patients the bins are finer."""
WIDE = 1.5
"""Five standard deviations of the share of negatives above a threshold, times the square root of the patients."""


def resampled_scores(
    test: ResampledTestSet, probability: NDArray[np.float32], *, multi: bool, metrics: Sequence[str] = COLUMNS
) -> dict[str, Floats]:
    """Metric -> (1+R,) values in [0, 1], first the test set, then its R resamples; NaN where undefined.

    probability: (windows, C) as in the stored predictions.
    """
    lines = resampled_lines(test, probability, multi=multi)
    return {name: METRICS[name].of(lines) for name in metrics}


def resampled_lines(test: ResampledTestSet, probability: NDArray[np.float32], *, multi: bool) -> ResampledLines:
    """The lines of a test set with a method's (windows, C) probabilities."""
    return ResampledLines(test.truth, pooled(test, probability), multi, test)


@dataclass(frozen=True)
class ResampledLines(Lines):
    """Lines weighted by how often their patient is drawn, in the test set and its R resamples."""

    test: ResampledTestSet

    def sums(self, values: NDArray[Any]) -> Floats:
        """(1+R, K) sums of (n, K) values."""
        return resampled_sums(self.test, by_patient(self.test, values))

    @property
    def positives(self) -> NDArray[Any]:
        """(1+R, C) number of lines of each class; the same for every method."""
        return self.test.positives

    @property
    def negatives(self) -> NDArray[Any]:
        """(1+R, C) number of lines not of each class."""
        return self.test.negatives

    def areas(self) -> Floats:
        """(1+R, C) share of the (positive, negative) pairs in which the positive has the higher score, ties half."""
        won = np.zeros_like(self.positives)  # (1+R, C)
        both = np.flatnonzero(self.truth.any(axis=0) & ~self.truth.all(axis=0))
        if len(both):
            won[:, both] = _pairs_won(self.test, self.probability[:, both], self.truth[:, both] == 1)
        return share(won, self.positives * self.negatives)

    def scores_of(self, levels: Levels, scores: Sequence[Callable[[Ranking], Floats]]) -> list[Floats]:
        """(1+R,) values of each score of a class; changes from the test set to a resample are of merged levels."""
        exact = counted(levels)
        few = merged(levels, WIDE / np.sqrt(self.test.patients))
        positives, negatives = (self._times(few, sign) for sign in (few.positive, ~few.positive))
        tied = negatives if few.tied.sum() == (~few.positive).sum() else self._times(few, few.tied)
        drawn = Ranking(positives, negatives, tied, self._all(~few.positive))
        found = []
        for score_of in scores:
            values = score_of(drawn)  # (1+R,)
            found.append(np.clip(values - values[0] + score_of(exact), 0, 1))
        return found

    def _times(self, levels: Levels, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(K, 1+R) weight of the chosen lines on each level."""
        count, patients = levels.count, self.test.patients
        place = levels.level[chosen] * patients + self.test.patient[chosen]
        by_patient_of = np.bincount(place, minlength=(count + 1) * patients).reshape(count + 1, patients)
        return np.asarray(by_patient_of[:count].astype(np.float32) @ self.test.times)

    def _all(self, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(1+R,) weight of the chosen lines."""
        by_patient_of = np.bincount(self.test.patient[chosen], minlength=self.test.patients)
        return np.asarray(by_patient_of.astype(np.float32) @ self.test.times)

    def binned(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Floats:
        """(1+R, K, BINS) sums of (n, K) values over the lines of each bin."""
        own = [self._by_patient_and_bin(b, v) for b, v in zip(bins.T, values.T, strict=True)]  # K of (P, BINS)
        return resampled_sums(self.test, np.concatenate(own, axis=1)).reshape(-1, len(own), ECE_BINS)

    def _by_patient_and_bin(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Floats:
        place = self.test.patient * ECE_BINS + bins  # (n,)
        sums: Floats = np.bincount(place, weights=values, minlength=self.test.patients * ECE_BINS).astype(np.float64)
        return sums.reshape(-1, ECE_BINS)  # (P, BINS)


class Placed(NamedTuple):
    """The terms of p(w) for one class."""

    won: np.float64
    """p(1), in float64 like the sum of all terms."""
    gradient: NDArray[np.float32]
    """(P,) g"""
    above: NDArray[np.float32]
    """(P, B) positives of each patient in each bin."""
    beaten: Floats
    """(P, B) negatives that a positive in the bin is above; A is above @ beaten.T."""


def _pairs_won(test: ResampledTestSet, scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Floats:
    """(1+R, C) weighted number of (positive, negative) pairs with the positive higher, ties half, of (n, C) lines."""
    placed = [_placed(test, *column) for column in zip(scores.T, positive.T, strict=True)]
    exact = [own.won + test.counts_minus_one @ own.gradient for own in placed]  # C of (1+R,)
    return np.stack(exact, axis=1) + _curvature(test, placed)


def _placed(test: ResampledTestSet, scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Placed:
    order = np.argsort(scores, kind="stable")
    sign, patient, ranked = positive[order], test.patient[order], scores[order]  # (n,) each
    level = np.cumsum(np.r_[False, ranked[1:] != ranked[:-1]])  # (n,) equal scores share a level
    up = np.bincount(level, weights=sign)  # (levels,) positives
    down = np.bincount(level, weights=~sign)  # (levels,) negatives
    up_below, down_below = np.cumsum(up) - up / 2, np.cumsum(down) - down / 2  # (levels,) its own count half
    beaten = np.where(sign, down_below[level], up.sum() - up_below[level])  # (n,) placements
    gradient = np.bincount(patient, weights=beaten)  # (P,)

    middle = up_below / up.sum() + down_below / down.sum()  # (levels,) in (0, 2): rare positives get their own bins
    count = max(FEWEST_BINS, CELLS // test.patients)  # B
    bins = (middle * (count / 2)).astype(np.intp)[level]  # (n,)
    place = (patient + sign * test.patients) * count + bins
    histograms = np.bincount(place, minlength=2 * test.patients * count).astype(np.float32)
    below, above = histograms.reshape(2, test.patients, count)  # (P, B) negatives, (P, B) positives
    won_over = np.cumsum(below, axis=1, dtype=np.float32) - below / np.float32(2)  # (P, B)
    return Placed(np.float64(beaten[sign].sum()), gradient.astype(np.float32), above, won_over)


def _curvature(test: ResampledTestSet, placed: Sequence[Placed]) -> NDArray[np.float32]:
    """(1+R, C) e'Ae; all classes share one product with the resamples, since reading these is what takes time."""
    counts_minus_one, bins = test.counts_minus_one, placed[0].above.shape[1]
    if test.patients <= 2 * bins:  # A has fewer entries than its two factors
        forms = np.concatenate([own.above @ own.beaten.T for own in placed], axis=1)  # (P, C * P)
        rows = (counts_minus_one @ forms).reshape(len(counts_minus_one), len(placed), -1)  # (1+R, C, P)
        return np.asarray(np.einsum("rcp,rp->rc", rows, counts_minus_one))
    factors = np.concatenate([factor for own in placed for factor in (own.above, own.beaten)], axis=1)  # (P, 2 * C * B)
    drawn = np.hsplit(counts_minus_one @ factors, 2 * len(placed))  # 2 * C of (1+R, B)
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    return np.stack([np.einsum("rb,rb->r", above.copy(), beaten.copy()) for above, beaten in pairs], axis=1)


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
    runs: Floats | None = None
    """(V, S, L, 1+R) of the runs of each seed, of which `scores` is the mean; None of one per seed. They are the
    labelled subsets, or `repeats` fine-tunings on the first, as many on the second, and so on."""
    repeats: int = 1

    def every_run(self) -> tuple[Floats, NDArray[np.str_]]:
        """(V, S * L, 1+R) scores of every run of every seed, and (V, S * L) keys of their encoders."""
        if self.runs is None:
            return self.scores, self.encoders
        rows, seeds, subsets, resamples = self.runs.shape
        return self.runs.reshape(rows, seeds * subsets, resamples), self.encoders.repeat(subsets, axis=1)


def score_columns(
    run: Results,
    cells: Sequence[PlannedCell],
    unit: str,
    *,
    metrics: Sequence[str] = COLUMNS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[ScoreColumn]:
    """The columns of some cells in one score unit, by label ratio; Overall is the last of each ratio.

    unit: 'heartbeat' or 'recording'. cells: those of one table, at most one per variant, dataset, ratio, seed and
    labelled subset.
    metrics: its columns on each dataset. Raises UnequalTestSets.
    """
    at = partial(columns_at, run, cells, unit=unit, metrics=metrics, resamples=resamples, seed=seed)
    return [column for ratio in dict.fromkeys(cell.ratio for cell in cells) for column in at(ratio)]


def columns_at(
    run: Results,
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
        keys = {(cell.variant, cell.seed): run.rows[cell.key].pretrain_key for cell in there}
        encoders = np.array([[keys.get((variant, seed), "") for seed in seeds] for variant in variants])  # (V, S)
        subsets = 1 + max(cell.subset for cell in there)
        for metric in metrics:
            values = {cell: scored[cell.key][metric] for cell in there}
            runs = _laid_out(values, variants, seeds, subsets, np.full(1 + resamples, np.nan))  # (V, S, L, 1+R)
            scores = runs[:, :, 0] if subsets == 1 else mean_of(runs, axis=2)  # (V, S, 1+R)
            place = (unit, ratio, dataset, metric, variants, seeds, patients, encoders, scores)
            repeats = repeats_of(run.plan, there[0].evaluation)
            columns.append(ScoreColumn(*place, runs if subsets > 1 else None, repeats))
    return [*columns, *_overall(columns)]


def repeats_of(plan: Plan, evaluation: str) -> int:
    """Fine-tunings on each labelled subset of a seed; one probe of a frozen encoder."""
    return 1 if is_frozen(evaluation) else int(plan.config.get("repeats", 1))


def _scored(
    run: Results, cells: Sequence[PlannedCell], first: str, unit: str, metrics: Sequence[str], resamples: int, seed: int
) -> tuple[dict[str, Scored], int]:
    """Cell key -> its scores under the resamples of the test set of the cell `first`; and its number of patients."""
    expected = run.predictions(first)
    test = resampled_test_set(expected, unit, resamples=resamples, seed=seed, pool=run.plan.pool)

    def score(own: Predictions, labels: str) -> Scored:
        return resampled_scores(test, own.probability, multi=labels == "multi", metrics=metrics)

    return of_each(run, [cell.key for cell in cells], first, score), test.patients


def of_each(run: Results, keys: Sequence[str], first: str, of: Callable[[Predictions, str], T]) -> dict[str, T]:
    """Cell key -> what `of` its predictions and kind of labels is, for cells tested as the cell `first`.

    Raises UnequalTestSets.
    """
    expected = run.predictions(first)

    def one(key: str) -> T:
        row, found = run.rows[key], run.predictions(key)
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
    values: Mapping[PlannedCell, Floats],
    variants: Sequence[str],
    seeds: Sequence[int],
    subsets: int,
    missing: Floats,
) -> Floats:
    """(V, S, L, ...) values by variant, seed and labelled subset."""
    places = {(cell.variant, cell.seed, cell.subset): value for cell, value in values.items()}
    return np.array(
        [
            [[places.get((variant, seed, subset), missing) for subset in range(subsets)] for seed in seeds]
            for variant in variants
        ]
    )


def mean_of(runs: Floats, axis: int = 0) -> Floats:
    """The mean over the labelled subsets of a seed, which lie along an axis; those without a score are left out."""
    defined = np.isfinite(runs)
    count = defined.sum(axis=axis)
    return np.where(count > 0, np.where(defined, runs, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


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
    return [replace(first, dataset="", metric=OVERALL, patients=fewest, scores=mean, runs=None)]
