"""The statistics of one table: intervals, paired differences, ties, variance components, and their sentences.

Gates are not tested, so that they enlarge no family of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from benchmark.results.plain_text import csv_cell
from reports.runs.planned_tables import Layout
from reports.runs.run import Run
from reports.statistics.columns import score_columns
from reports.statistics.components import components
from reports.statistics.limits import method, reach
from reports.statistics.pairwise import intervals, pairwise, ties

Place = tuple[float, str, str, str]
"""Ratio, dataset ('' of Overall), metric, variant."""
DIGITS = 6
"""Decimals in a CSV file: further ones differ between processors."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table; each frame's first columns are `PLACE`."""

    tied: frozenset[Place] = frozenset()
    """Numbers not significantly different from the best of their column and block."""
    words: tuple[str, ...] = ()
    """Footers."""
    details: tuple[str, ...] = ()
    """How the statistics were computed, for the page."""
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    """'intervals', 'pairwise', 'components'."""


def statistics_of(run: Run, layout: Layout, unit: str) -> TableStatistics:
    """The statistics of a table in one score unit, from the stored predictions. Raises UnequalTestSets."""
    columns = score_columns(run, layout.competing, unit, metrics=layout.metrics)
    if not columns:
        return TableStatistics()
    pairs = pairwise(columns)
    marked = ties(intervals(columns), pairs)
    tied = marked.loc[marked["tie"], ["ratio", "dataset", "metric", "variant"]]
    strict = run.plan.config["protocol"] == "strict"
    return TableStatistics(
        tied=frozenset((float(r), str(d), str(m), str(v)) for r, d, m, v in tied.itertuples(index=False)),
        words=tuple(reach(run, columns, pairs)),
        details=tuple(method(run, columns)),
        frames={"intervals": marked, "pairwise": pairs, "components": components(columns, strict=strict)},
    )


def joined(statistics: Mapping[str, TableStatistics], what: str) -> str:
    """One CSV of the frame `what` of all tables; the first column is the table's name."""
    frames = [found.frames[what].assign(table=name) for name, found in statistics.items() if what in found.frames]
    if not frames:
        return "table\n"
    columns = dict.fromkeys(column for frame in frames for column in frame if column != "table")
    known = [frame.dropna(axis="columns", how="all") for frame in frames]  # pandas warns of columns without a value
    whole = pd.concat(known, ignore_index=True).reindex(columns=["table", *columns])
    return whole.round(DIGITS).map(csv_cell).to_csv(index=False, lineterminator="\n")
