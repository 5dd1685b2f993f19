"""What the tables of further scores consist of: one estimate per line, and the cells that a line is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.results.plan import PlannedCell
from reports.runs.planned_tables import layouts
from reports.runs.run import Run
from reports.statistics.interval import estimate
from reports.statistics.test_set import Floats

RESAMPLES = 200
"""The first of the resamples of the main statistics; enough for a standard error (Efron and Tibshirani, 1993)."""


@dataclass(frozen=True)
class Estimated:
    """A mean over seeds with its 95 % interval, in [0, 1] (a gap: in [-1, 1]); NaN where unknown, `remark` says why."""

    mean: float
    low: float
    high: float
    seeds: int
    remark: str = ""


@dataclass(frozen=True)
class Place:
    """A test set at one label ratio: what one table of further scores is about."""

    evaluation: str
    unit: str
    dataset: str
    ratio: float


def places(run: Run, units: Sequence[str]) -> Iterator[tuple[Place, list[PlannedCell]]]:
    """Each place of the main tables that has a finished cell, with its finished cells."""
    for evaluation in dict.fromkeys(cell.evaluation for cell in run.plan.cells):
        main = next((layout for layout in layouts(run.plan, evaluation) if not layout.name), None)
        cells = [cell for cell in main.cells if cell.key in run.rows] if main else []
        for unit in units:
            for dataset in run.plan.datasets:
                for ratio in main.ratios if main else ():
                    there = [cell for cell in cells if (cell.dataset, cell.ratio) == (dataset, ratio)]
                    if there:
                        yield Place(evaluation, unit, dataset, ratio), there


def by_variant(run: Run, cells: Sequence[PlannedCell]) -> dict[str, list[str]]:
    """Variant -> keys of its cells, in the order of the rows."""
    keys = {name: [cell.key for cell in cells if cell.variant == name] for name in run.plan.variants}
    return {name: own for name, own in keys.items() if own}


def classes_of(run: Run, dataset: str, count: int) -> list[str]:
    """Names of the classes of a dataset; numbers where the plan names others."""
    named = list(run.plan.datasets[dataset].get("classes") or [])
    return named if len(named) == count else [f"class {number}" for number in range(1, count + 1)]


def estimated(scores: Floats, patients: int, *, gap: bool = False) -> Estimated:
    """The estimate of (S, 1+R) scores or gaps of seeds."""
    found = estimate(scores, patients)
    low, high = np.clip([found.low, found.high], -1 if gap else 0, 1)
    return Estimated(found.mean, float(low), float(high), found.seeds, found.remark)


def stacked(values: Sequence[Mapping[str, Floats]], name: str) -> Floats:
    """(S, 1+R, ...) the values of one name of S seeds."""
    return np.stack([own[name] for own in values])
