"""The columns of a table, a metric on a dataset or the headline, as scores with each patient left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmark.results.arrays import Doubles, Texts
from benchmark.results.metrics import METRICS, RECALLS, ranked_classes
from benchmark.results.names import AT, OVERALL
from benchmark.results.store import PlannedCell, Predictions
from reports.jackknife import JACKKNIFED, leave_one_out, with_contributions
from reports.results import Run, in_unit

COLUMN_ID = ["unit", "ratio", "dataset", "metric"]


class Replicates(NamedTuple):
    """Units over which the scores of a row are repeated.

    Under `strict` a seed draws its own labelled subsets, so that the mean of a seed is one replicate. Under `paper` all
    seeds share the subsets: with several, the mean of a subset is the replicate, and seeds are a second factor.
    """

    coordinate: Literal["seed", "subset"]
    numbers: Sequence[int]


class UnequalTestSets(Exception):
    """Two cells of one dataset have different test windows; the message names both."""


@dataclass(frozen=True)
class ScoreColumn:
    """A metric on a dataset, or the headline, at one label ratio: scores of all rows, with errors by patient."""

    unit: str
    ratio: float
    dataset: str
    """'' for the headline."""
    metric: str
    rows: dict[str, list[Doubles]]
    """Variant -> (S, 1 + P) of each tested dataset, which add up: the score, and what each of its patients adds to its
    error (`with_contributions`); NaN where a seed has no score."""
    seeds: Mapping[str, Doubles] = field(default_factory=dict)
    """Variant -> (S',) scores of the seeds, where labelled subsets that all of them share are the replicates S."""
    margin: float = np.nan
    """Rows whose true difference is smaller are equivalent; NaN where equivalence is not asked."""
    is_crossfitted: bool = False
    """Parts of the test patients have encoders of their own, in one of the datasets."""
    is_paired: bool = True
    """A seed of all rows is the same draw of something; else their runs are independent."""

    @property
    def identity(self) -> dict[str, Any]:
        """The values of `COLUMN_ID`."""
        return {name: getattr(self, name) for name in COLUMN_ID}

    @property
    def has_scores(self) -> bool:
        """True where a seed of a row has a score."""
        return any(np.isfinite(block[:, 0]).any() for blocks in self.rows.values() for block in blocks)


def score_columns(
    results: Run, cells: Sequence[PlannedCell], metrics: Sequence[str], unit: str
) -> Iterator[ScoreColumn]:
    """Yield the columns of the finished cells of an evaluation, the headline last at each ratio.

    Raises UnequalTestSets.
    """
    tested = [metric for metric in metrics if metric in (*JACKKNIFED, *RECALLS)]
    finished = [cell for cell in cells if cell.key in results.rows and results.rows[cell.key].counts["test_windows"]]
    by_seed = Replicates("seed", sorted({cell.seed for cell in finished}))
    headline = results.plan.headline
    for ratio in dict.fromkeys(cell.ratio for cell in finished):
        by_subset = Replicates("subset", sorted({cell.subset for cell in finished if cell.ratio == ratio}))
        are_shared = results.plan.config["protocol"] == "paper" and len(by_subset.numbers) > 1
        replicates = by_subset if are_shared else by_seed
        columns = []
        patients: dict[str, Texts] = {}
        for dataset, facts in results.plan.datasets.items():
            chosen = [cell for cell in finished if cell.ratio == ratio and cell.dataset == dataset]
            if not chosen:
                continue
            scores = _contributed_scores(results, chosen, unit, tested)
            patients[dataset] = np.unique(results.predictions(chosen[0].key).patient)
            for metric in tested:
                rows = _rows_of_column(results, chosen, replicates, metric, scores)
                seeds = {}
                if are_shared:
                    means = _rows_of_column(results, chosen, by_seed, metric, scores)
                    seeds = {variant: block[:, 0] for variant, (block,) in means.items()}
                is_crossfitted = bool(facts.get("crossfitted"))
                columns.append(ScoreColumn(unit, ratio, dataset, metric, rows, seeds, is_crossfitted=is_crossfitted))
        yield from columns
        averaged = [column for column in columns if column.metric in headline.metrics and column.has_scores]
        overall = overall_rows(averaged, patients)
        if overall:
            is_crossfitted = any(column.is_crossfitted for column in averaged)
            seeds = {}
            for row in overall if are_shared else ():
                seeds[row] = np.mean([column.seeds[row] for column in averaged], axis=0)
            yield ScoreColumn(unit, ratio, "", OVERALL, overall, seeds, headline.margin, is_crossfitted)


def _contributed_scores(
    results: Run, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]
) -> dict[str, dict[str, Doubles]]:
    """Score cells with the same test windows: key -> metric -> (1 + P,) as of `with_contributions`."""
    reference: Predictions | None = None
    ranked = [name for name in metrics if name in METRICS and METRICS[name].is_ranking]
    others = [name for name in metrics if name not in ranked]
    computed: dict[str, dict[str, Doubles]] = {}
    for key in dict.fromkeys(cell.key for cell in cells):
        equal = results.first_of_equals[key]
        if equal in computed:
            continue
        row = results.rows[key]
        predictions = results.predictions(key)
        reference = reference or predictions
        for name in ("patient", "recording", "truth"):
            if not np.array_equal(getattr(reference, name), getattr(predictions, name)):
                raise UnequalTestSets(
                    f"cells {cells[0].key} and {key} were tested on different windows of {row.dataset} ({name} "
                    "differs): their difference cannot be paired; run the plan again on one version of the data"
                )
        classes = ranked_classes(predictions.truth, predictions.patient, results.plan.headline)
        scored = in_unit(predictions, unit, results.plan.pool)
        left_out = leave_one_out(scored, ranked, multi=row.labels == "multi", classes=classes)
        left_out |= leave_one_out(scored, others, multi=row.labels == "multi")
        computed[equal] = {name: with_contributions(values) for name, values in left_out.items()}
    return {cell.key: computed[results.first_of_equals[cell.key]] for cell in cells}


def _rows_of_column(
    results: Run,
    cells: Sequence[PlannedCell],
    replicates: Replicates,
    metric: str,
    scores: dict[str, dict[str, Doubles]],
) -> dict[str, list[Doubles]]:
    """Average the scores of a metric within each replicate: variant -> (S, 1 + P); NaN for one without a cell.

    scores: of `_contributed_scores`.
    """
    missing = np.full_like(scores[cells[0].key][metric], np.nan)  # (1 + P,)
    rows: dict[str, list[Doubles]] = {}
    for variant in results.plan.variants:
        of_variant = [cell for cell in cells if cell.variant == variant]
        means = []
        for number in replicates.numbers:
            cells_of_it = [cell for cell in of_variant if getattr(cell, replicates.coordinate) == number]
            means.append(np.mean([scores[cell.key][metric] for cell in cells_of_it] or [missing], axis=0))
        if of_variant:
            rows[variant] = [np.stack(means)]
    return rows


def overall_rows(columns: Sequence[ScoreColumn], patients: Mapping[str, Texts]) -> dict[str, list[Doubles]]:
    """Average the columns of the rows that have all of them: variant -> (S, 1 + N) of each tested dataset.

    What a patient adds to the error is summed over the columns of his dataset, in which he may be or not: columns of
    the same patients err together. patients: column's dataset -> (P,).
    """
    tested = {column.dataset: tested_dataset(column.dataset) for column in columns}
    every: dict[str, Texts] = {}
    for dataset, name in tested.items():
        others = every.get(name, patients[dataset])
        every[name] = np.union1d(others, patients[dataset])  # (N,)
    counts = Counter[str]()
    sums: dict[str, dict[str, Doubles]] = {}
    for column in columns:
        name = tested[column.dataset]
        index = 1 + np.searchsorted(every[name], patients[column.dataset])  # (P,)
        for variant, (block,) in column.rows.items():
            counts[variant] += 1
            nothing = np.zeros((len(block), 1 + len(every[name])))
            total = sums.setdefault(variant, {}).setdefault(name, nothing)
            total[:, 0] += block[:, 0]
            total[:, index] += block[:, 1:]
    most = max(counts.values(), default=0)
    overall = {}
    for variant, by_dataset in sums.items():
        if counts[variant] == most:
            overall[variant] = [total / most for total in by_dataset.values()]
    return overall


def tested_dataset(column: str) -> str:
    """Return 'ludb' for 'ptb-xl.rhythm@ludb', 'ptb-xl' for 'ptb-xl.rhythm'."""
    _, _, tested = column.rpartition(AT)
    return tested.partition(".")[0]
