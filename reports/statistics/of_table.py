"""The statistics of one table: intervals, paired differences, ties, variance components, and their sentences.

Gates are not tested, so that they enlarge no family of tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pandas as pd

from benchmark.results.plain_text import csv_cell
from reports.runs.kept import Kept
from reports.runs.planned_tables import Layout
from reports.runs.run import Run
from reports.statistics.columns import ScoreColumn, columns_at
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


def statistics_of(run: Run, layout: Layout, unit: str, kept: Kept | None = None) -> TableStatistics:
    """The statistics of a table in one score unit, from the stored predictions. Raises UnequalTestSets.

    kept: where they are looked up and left for the next report.
    """
    place = "statistics", layout.evaluation, layout.name, unit, *layout.metrics
    known = kept.get(*place) if kept else None
    if known:
        return _as_stored(known)
    found = _computed(run, layout, unit)
    if kept:
        kept.put(_to_store(found), *place)
    return found


def _to_store(found: TableStatistics) -> dict[str, Any]:
    """JSON values, exact to the bit."""
    frames = {
        what: {"types": {name: str(kind) for name, kind in frame.dtypes.items()}, "columns": frame.to_dict("list")}
        for what, frame in found.frames.items()
    }
    return {"words": found.words, "details": found.details, "frames": frames}


def _as_stored(value: Mapping[str, Any]) -> TableStatistics:
    frames = {what: pd.DataFrame(own["columns"]).astype(own["types"]) for what, own in value["frames"].items()}
    return TableStatistics(_tied(frames), tuple(value["words"]), tuple(value["details"]), frames)


def _tied(frames: Mapping[str, pd.DataFrame]) -> frozenset[Place]:
    if not frames:
        return frozenset()
    marked = frames["intervals"]
    tied = marked.loc[marked["tie"], ["ratio", "dataset", "metric", "variant"]]
    return frozenset((float(r), str(d), str(m), str(v)) for r, d, m, v in tied.itertuples(index=False))


class _AtRatio(NamedTuple):
    """What is left of one label ratio when its scores are out of memory."""

    frames: dict[str, pd.DataFrame]
    outlines: list[ScoreColumn]
    """Its columns with the scores of the test set alone."""
    details: list[str]


def _computed(run: Run, layout: Layout, unit: str) -> TableStatistics:
    found = [at for ratio in layout.ratios if (at := _at_ratio(run, layout, ratio, unit)).outlines]
    if not found:
        return TableStatistics()
    frames = {what: _joined([at.frames[what] for at in found]) for what in found[0].frames}
    outlines = [column for at in found for column in at.outlines]
    return TableStatistics(
        _tied(frames), tuple(reach(run, outlines, frames["pairwise"])), tuple(found[0].details), frames
    )


def _at_ratio(run: Run, layout: Layout, ratio: float, unit: str) -> _AtRatio:
    columns = columns_at(run, layout.competing, ratio, unit, metrics=layout.metrics)
    if not columns:
        return _AtRatio({}, [], [])
    pairs = pairwise(columns)
    frames = {
        "intervals": ties(intervals(columns), pairs),
        "pairwise": pairs,
        "components": components(columns, strict=run.plan.config["protocol"] == "strict"),
    }
    outlines = [replace(column, scores=column.scores[..., :1].copy()) for column in columns]
    return _AtRatio(frames, outlines, method(run, columns))


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of equal columns below each other; the empty ones count only where all are."""
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def joined(statistics: Mapping[str, TableStatistics], what: str) -> str:
    """One CSV of the frame `what` of all tables; the first column is the table's name."""
    frames = [found.frames[what].assign(table=name) for name, found in statistics.items() if what in found.frames]
    if not frames:
        return "table\n"
    columns = dict.fromkeys(column for frame in frames for column in frame if column != "table")
    known = [frame.dropna(axis="columns", how="all") for frame in frames]  # pandas warns of columns without a value
    whole = pd.concat(known, ignore_index=True).reindex(columns=["table", *columns])
    return whole.round(DIGITS).map(csv_cell).to_csv(index=False, lineterminator="\n")
