"""The frames behind the figures of an evaluation: differences of its rows, intervals, and the best baseline beside
them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from benchmark.results.names import OVERALL, is_untrained
from reports.inference import TableStatistics, both_ways, differences, judged, pairwise
from reports.layouts import Layout


class RowComparison(NamedTuple):
    """The comparison of an evaluation in one unit; scores and differences are in [0, 1]."""

    differences: pd.DataFrame
    """Pairs of the compared rows, as `differences` gives them."""
    intervals: pd.DataFrame
    """Intervals of all rows, as `intervals` gives them."""
    baseline: pd.DataFrame
    """The best baseline minus the reference of the differences, a line per label ratio; part of no family of tests."""
    among: pd.DataFrame
    """Pairs of the methods, as `among_methods` gives them."""


def comparison_of(layout: Layout, statistics: TableStatistics) -> RowComparison:
    """Compare the rows of a main table and its best baseline."""
    compared = differences(statistics)
    among = among_methods(statistics)
    shown = statistics.intervals
    of_baselines = shown[(shown["metric"] == OVERALL) & shown["variant"].isin(layout.baselines)]
    means = of_baselines.groupby("variant")["mean"].mean().dropna()
    if compared.empty or means.empty:
        return RowComparison(compared, shown, compared[:0], among)
    reference = compared["reference"].iloc[0]
    best = means.idxmax()
    shares = set(compared["ratio"])
    both = []
    for column in statistics.columns:
        if column.metric == OVERALL and column.ratio in shares:
            rows = {name: blocks for name, blocks in column.rows.items() if name in (reference, best)}
            seeds = {name: column.seeds[name] for name in rows if column.seeds}
            both.append(replace(column, rows=rows, seeds=seeds))
    pairs = both_ways(pairwise(both))
    return RowComparison(compared, shown, pairs[pairs["variant"] == best], among)


def among_methods(statistics: TableStatistics) -> pd.DataFrame:
    """Compare the headline of each method with that of the best one of its label ratio, as `differences` does.

    Empty where no untrained encoder is compared: `differences` then has the best row as its reference.
    """
    means = statistics.intervals.query("metric == @OVERALL").dropna(subset=["mean"])
    pairs = both_ways(statistics.pairs.query("metric == @OVERALL").dropna(subset=["difference"]))
    is_method = ~pairs["variant"].map(is_untrained).astype(bool)
    chosen = [pairs[:0]]
    for ratio, tests in pairs[is_method].groupby("ratio", sort=False):
        if not tests["reference"].map(is_untrained).any():
            continue
        of_methods = means[(means["ratio"] == ratio) & means["variant"].isin(tests["variant"])]
        best_first = of_methods.sort_values("mean", ascending=False, kind="stable")
        chosen.append(tests[tests["reference"] == best_first["variant"].iloc[0]])
    return judged(pd.concat(chosen, ignore_index=True))
