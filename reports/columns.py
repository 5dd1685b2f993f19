"""The columns of a table, a metric on a dataset or the headline, as scores with each patient left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.results.arrays import Doubles
from benchmark.results.metrics import METRICS, RECALLS, ranked_classes
from benchmark.results.names import OVERALL
from benchmark.results.store import PlannedCell, Predictions
from reports.jackknife import JACKKNIFED, leave_one_out
from reports.results import Results

COLUMN_ID = ["unit", "ratio", "dataset", "metric"]


class UnequalTestSets(Exception):
    """Two cells of one dataset have different test windows; the message names both."""


@dataclass(frozen=True)
class ScoreColumn:
    """A metric on a dataset, or the headline, at one label ratio: scores of all rows with each patient left out."""

    unit: str
    ratio: float
    dataset: str
    """'' for the headline."""
    metric: str
    rows: dict[str, list[Doubles]]
    """Variant -> (S, 1 + P) of each dataset, which add up to the score; NaN where a seed has no score."""
    margin: float = np.nan
    """Rows whose true difference is smaller are equivalent; NaN where equivalence is not asked."""
    is_crossfitted: bool = False
    """Whether parts of the test patients have encoders of their own, in one of the datasets."""

    @property
    def identity(self) -> dict[str, Any]:
        """The values of `COLUMN_ID`."""
        return {name: getattr(self, name) for name in COLUMN_ID}

    @property
    def has_scores(self) -> bool:
        """Whether a seed of a row has a score."""
        return any(np.isfinite(block[:, 0]).any() for blocks in self.rows.values() for block in blocks)


def score_columns(
    results: Results, cells: Sequence[PlannedCell], metrics: Sequence[str], unit: str
) -> Iterator[ScoreColumn]:
    """Yield the columns of the finished cells of an evaluation, the headline last at each ratio.

    Raises UnequalTestSets.
    """
    tested = [metric for metric in metrics if metric in (*JACKKNIFED, *RECALLS)]
    finished = [cell for cell in cells if cell.key in results.rows]
    seeds = sorted({cell.seed for cell in finished})
    headline = results.plan.headline
    for ratio in dict.fromkeys(cell.ratio for cell in finished):
        columns = []
        for dataset, facts in results.plan.datasets.items():
            chosen = [cell for cell in finished if cell.ratio == ratio and cell.dataset == dataset]
            if not chosen:
                continue
            scores = _left_out_scores(results, chosen, unit, tested)
            for metric in tested:
                rows = _rows_of_column(results, chosen, seeds, metric, scores)
                is_crossfitted = bool(facts.get("crossfitted"))
                columns.append(ScoreColumn(unit, ratio, dataset, metric, rows, is_crossfitted=is_crossfitted))
        yield from columns
        averaged = [column for column in columns if column.metric in headline.metrics and column.has_scores]
        overall = _overall_rows(averaged)
        if overall:
            is_crossfitted = any(column.is_crossfitted for column in averaged)
            yield ScoreColumn(unit, ratio, "", OVERALL, overall, headline.margin, is_crossfitted)


def _left_out_scores(
    results: Results, cells: Sequence[PlannedCell], unit: str, metrics: Sequence[str]
) -> dict[str, dict[str, Doubles]]:
    """Score cells with the same test windows with each patient left out: key -> metric -> (1 + P,)."""
    scores: dict[str, dict[str, Doubles]] = {}
    reference: Predictions | None = None
    ranked = [name for name in metrics if name in METRICS and METRICS[name].is_ranking]
    others = [name for name in metrics if name not in ranked]
    for key in dict.fromkeys(cell.key for cell in cells):
        row = results.rows[key]
        predictions = results.predictions(key)
        reference = reference or predictions
        for name in ("patient", "recording", "truth"):
            if not np.array_equal(getattr(reference, name), getattr(predictions, name)):
                raise UnequalTestSets(
                    f"cells {next(iter(scores))} and {key} were tested on different windows of {row.dataset} ({name} "
                    "differs): their difference cannot be paired; run the plan again on one version of the data"
                )
        classes = ranked_classes(predictions.truth, predictions.patient, results.plan.headline)
        multi, pool = row.labels == "multi", results.plan.pool
        scores[key] = leave_one_out(predictions, unit, ranked, multi=multi, pool=pool, classes=classes)
        scores[key] |= leave_one_out(predictions, unit, others, multi=multi, pool=pool)
    return scores


def _rows_of_column(
    results: Results,
    cells: Sequence[PlannedCell],
    seeds: Sequence[int],
    metric: str,
    scores: dict[str, dict[str, Doubles]],
) -> dict[str, list[Doubles]]:
    """Average the scores of a metric over labelled subsets: variant -> (S, 1 + P); NaN for a seed without a cell.

    scores: of `_left_out_scores`.
    """
    missing = np.full_like(scores[cells[0].key][metric], np.nan)  # (1 + P,)
    rows: dict[str, list[Doubles]] = {}
    for variant in results.plan.variants:
        of_variant = [cell for cell in cells if cell.variant == variant]
        by_seed = []
        for seed in seeds:
            subsets = [scores[cell.key][metric] for cell in of_variant if cell.seed == seed]
            by_seed.append(np.mean(subsets or [missing], axis=0))
        if of_variant:
            rows[variant] = [np.stack(by_seed)]
    return rows


def _overall_rows(columns: Sequence[ScoreColumn]) -> dict[str, list[Doubles]]:
    """Average the columns of the rows that have all of them: variant -> (S, 1 + P) of each dataset, which add up."""
    counts = Counter[str]()
    blocks: dict[str, dict[str, list[Doubles]]] = {}
    for column in columns:
        for variant, parts in column.rows.items():
            counts[variant] += 1
            blocks.setdefault(variant, {}).setdefault(column.dataset, []).extend(parts)
    most = max(counts.values(), default=0)
    overall: dict[str, list[Doubles]] = {}
    for variant, by_dataset in blocks.items():
        if counts[variant] == most:
            overall[variant] = [np.sum(parts, axis=0) / most for parts in by_dataset.values()]
    return overall
