"""The statistics of one table: intervals and paired differences of its rows, which rows tie, and what they can show.

Rows that compete are compared with each other; gates, which are there to be read against, enlarge no family of tests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from reports.runs.load import Results
from reports.runs.planned_tables import Layout
from reports.statistics.columns import score_columns
from reports.statistics.components import components
from reports.statistics.limits import method, reach
from reports.statistics.pairwise import intervals, pairwise, ties

Place = tuple[float, str, str, str]
"""Ratio, dataset ('' of Overall), metric, variant."""
DIGITS = 6
"""Of a number in a CSV file: more would differ between processors."""


@dataclass(frozen=True)
class Judged:
    """What statistics say of a table; each frame's lines begin with the place of a column."""

    tied: frozenset[Place] = frozenset()
    """Numbers that cannot be told from the best of their column and block."""
    words: tuple[str, ...] = ()
    """For below the table."""
    details: tuple[str, ...] = ()
    """How the statistics were made, for the page."""
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    """'intervals', 'pairwise', 'components'."""


def judge(results: Results, root: Path, layout: Layout, evaluation: str, unit: str) -> Judged:
    """The statistics of a table, from the predictions in the store. Raises UnequalTestSets."""
    rows = [variant for variant in layout.variants if variant not in layout.gates]
    cells = [cell for cell in results.plan.cells if cell.evaluation == evaluation and cell.variant in rows]
    shown = {cell.ratio for cell in cells if cell.variant in layout.changed or not layout.changed}
    cells = [cell for cell in cells if cell.ratio in shown]
    columns = score_columns(results, root, cells, unit, metrics=tuple(layout.metrics))
    if not columns:
        return Judged()
    pairs = pairwise(columns)
    marked = ties(intervals(columns), pairs)
    tied = marked.loc[marked["tie"], ["ratio", "dataset", "metric", "variant"]]
    strict = results.plan.config["protocol"] == "strict"
    return Judged(
        tied=frozenset((float(r), str(d), str(m), str(v)) for r, d, m, v in tied.itertuples(index=False)),
        words=tuple(reach(results, columns, pairs)),
        details=tuple(method(results, columns)),
        frames={"intervals": marked, "pairwise": pairs, "components": components(columns, strict=strict)},
    )


def joined(judged: dict[str, Judged], what: str) -> str:
    """One CSV of a frame of all tables, given by name, each line beginning with its table's."""
    frames = [found.frames[what].assign(table=name) for name, found in judged.items() if what in found.frames]
    if not frames:
        return "table\n"
    whole = pd.concat(frames, ignore_index=True)
    whole = whole[["table", *(column for column in whole if column != "table")]]
    return whole.round(DIGITS).to_csv(index=False, lineterminator="\n")
