"""Each method under a further preset beside its own row: scores, paired differences and their tests.

A family of tests is all differences of one column at one label ratio, methods x further presets. A preset whose
settings are the method's own has the same cells and is not tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmark.results.names import PRESET
from benchmark.results.store import PlannedCell
from reports.runs import ReportCache, Run, role_of
from reports.statistics.bootstrap import columns_at
from reports.statistics.table import pairwise, place_of

TESTED = ("difference", "low", "high", "p", "p_holm", "seeds", "remark")
SAME = "same settings"
"""Remark of a preset whose settings are the method's own."""


@dataclass(frozen=True)
class Beside:
    """A method under a further preset, in one column at one label ratio; scores and differences in [-1, 1]."""

    unit: str
    ratio: float
    dataset: str
    """'' for Overall, the mean of all columns."""
    metric: str
    of: str
    """The method."""
    preset: str
    own: float
    """Mean of the method's own row over the seeds that have a score; NaN without one, like all that follow."""
    mean: float
    """That of its row under the preset."""
    difference: float = float("nan")
    """Preset minus own, over the seeds that both have."""
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    p_holm: float = float("nan")
    seeds: int = 0
    remark: str = SAME


def beside(run: Run, evaluation: str, unit: str, kept: ReportCache | None = None) -> list[Beside]:
    """The columns of an evaluation in one score unit, by label ratio, Overall last; none without further presets.

    kept: where they are looked up and left for the next report. Raises UnequalTestSets.
    """
    roles = {name: role_of(run.plan, name) for name in run.plan.variants}
    rows = {name: role for name, role in roles.items() if role["role"] == PRESET and role["of"] in roles}
    there = {*rows, *(role["of"] for role in rows.values())}
    ratios = {cell.ratio for cell in run.plan.cells if cell.variant in rows}
    planned = [cell for cell in run.plan.cells if cell.evaluation == evaluation and cell.ratio in ratios]
    cells = [cell for cell in planned if cell.variant in there]
    place = "beside", evaluation, unit
    known = kept.get(*place) if kept and rows else None
    if known:
        return [Beside(**line) for line in known]
    found = [
        line
        for ratio in dict.fromkeys(cell.ratio for cell in cells)
        for line in _presets_at_ratio(run, cells, rows, ratio, unit)
    ]
    if kept and found:
        kept.put([asdict(line) for line in found], *place)
    return found


def _presets_at_ratio(
    run: Run, cells: Sequence[PlannedCell], rows: Mapping[str, Mapping[str, Any]], ratio: float, unit: str
) -> Iterator[Beside]:
    keys = {
        name: {cell.key for cell in cells if (cell.variant, cell.ratio) == (name, ratio)} for name in run.plan.variants
    }
    columns = columns_at(run, cells, ratio, unit)
    pairs = pairwise(columns, [(name, role["of"]) for name, role in rows.items() if keys[name] != keys[role["of"]]])
    tested = {(line["dataset"], line["metric"], line["first"]): line for line in pairs.to_dict("records")}
    for column in columns:
        means = {name: _mean(scores[:, 0]) for name, scores in zip(column.variants, column.scores, strict=True)}
        for name, role in rows.items():
            line = tested.get((column.dataset, column.metric, name))
            found = {what: line[what] for what in TESTED} if line else {}
            own, mean = (means.get(row, float("nan")) for row in (role["of"], name))
            yield Beside(**place_of(column), of=role["of"], preset=str(role["value"]), own=own, mean=mean, **found)


def _mean(scores: np.ndarray[Any, Any]) -> float:
    """The mean of those that are defined."""
    defined = scores[np.isfinite(scores)]
    return float(defined.mean()) if len(defined) else float("nan")
