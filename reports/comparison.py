"""What the figures show of an evaluation: differences of its rows, intervals, and the best baseline beside them."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from benchmark.results.names import OVERALL
from reports.columns import score_columns
from reports.inference import TableStatistics, both_ways, differences, pairwise
from reports.layouts import Layout
from reports.results import Run


class RowComparison(NamedTuple):
    """The comparison of an evaluation in one unit; scores and differences are in [0, 1]."""

    differences: pd.DataFrame
    """Pairs of the compared rows, as `differences` gives them."""
    intervals: pd.DataFrame
    """Intervals of all rows, as `intervals` gives them."""
    baseline: pd.DataFrame
    """The best baseline minus the reference of the differences, a line per label ratio; part of no family of tests."""


def comparison_of(results: Run, layout: Layout, unit: str, statistics: TableStatistics) -> RowComparison:
    """Compare the rows of a main table and its best baseline. Raises UnequalTestSets."""
    compared = differences(statistics)
    shown = statistics.intervals
    of_baselines = shown[(shown["metric"] == OVERALL) & shown["variant"].isin(layout.baselines)]
    means = of_baselines.groupby("variant")["mean"].mean().dropna()
    if compared.empty or means.empty:
        return RowComparison(compared, shown, compared[:0])
    reference, best = compared["reference"].iloc[0], means.idxmax()
    shares = set(compared["ratio"])
    cells = [cell for cell in layout.cells if cell.variant in (reference, best) and cell.ratio in shares]
    columns = score_columns(results, cells, layout.headline.metrics, unit)
    pairs = both_ways(pairwise([column for column in columns if column.metric == OVERALL]))
    return RowComparison(compared, shown, pairs[pairs["variant"] == best])
