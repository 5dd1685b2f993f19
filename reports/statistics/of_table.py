"""The statistics of one table: intervals and paired differences of its rows, which rows tie, and what they can show.

Rows that compete are compared with each other; gates, which are there to be read against, enlarge no family of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from reports.runs.planned_tables import Layout
from reports.runs.run import Run
from reports.statistics.columns import score_columns
from reports.statistics.components import components
from reports.statistics.limits import method, reach
from reports.statistics.pairwise import intervals, pairwise, ties

Place = tuple[float, str, str, str]
"""Ratio, dataset ('' of Overall), metric, variant."""
DIGITS = 6
"""Of a number in a CSV file: more would differ between processors."""


@dataclass(frozen=True)
class TableStatistics:
    """What statistics say of a table; each frame's lines begin with the place of a column."""

    tied: frozenset[Place] = frozenset()
    """Numbers that cannot be told from the best of their column and block."""
    words: tuple[str, ...] = ()
    """For below the table."""
    details: tuple[str, ...] = ()
    """How the statistics were made, for the page."""
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    """'intervals', 'pairwise', 'components'."""


def statistics_of(run: Run, layout: Layout, unit: str) -> TableStatistics:
    """The statistics of a table in one score unit, from the predictions in the store. Raises UnequalTestSets."""
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
    """One CSV of a frame of all tables, given by name, each line beginning with its table's."""
    frames = [found.frames[what].assign(table=name) for name, found in statistics.items() if what in found.frames]
    if not frames:
        return "table\n"
    whole = pd.concat(frames, ignore_index=True)
    whole = whole[["table", *(column for column in whole if column != "table")]]
    return whole.round(DIGITS).to_csv(index=False, lineterminator="\n")
