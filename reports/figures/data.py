"""The values that figures show: confusion matrices, bands of macro F1. Pure.

What figures show.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.results.metrics import TITLES, decide
from benchmark.results.names import GATE, METHOD, OVERALL, SWEEP, UNTRAINED, Pool
from benchmark.results.store import Plan, PlannedCell, Predictions
from reports.results import Results, role_of
from reports.statistics.bootstrap import pooled, resampled_test_set

FOLDER = "figures"


@dataclass(frozen=True)
class Figures:
    """The figures' files."""

    files: tuple[Path, ...]
    problems: tuple[str, ...]
    """One line per figure that could not be drawn."""


@dataclass(frozen=True)
class Confusion:
    """One row's decisions on one test set, summed over seeds and their labelled subsets."""

    variant: str
    seeds: int
    counts: NDArray[np.int64]
    """(C, C) true class by predicted class."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """(C, C) percent of each true class; NaN for a class absent from the test set."""
        total = self.counts.sum(axis=1, keepdims=True)  # (C, 1)
        return np.where(total > 0, 100 * self.counts / np.maximum(total, 1), np.nan)


def confusions(
    run: Results, variants: Sequence[str], *, evaluation: str, dataset: str, ratio: float, unit: str
) -> list[Confusion]:
    """One per row with a finished cell there; none for multi-label tasks. unit: 'heartbeat' or 'recording'."""
    cells: dict[str, list[PlannedCell]] = {}
    for cell in run.plan.cells:
        if (cell.evaluation, cell.dataset, cell.ratio) == (evaluation, dataset, ratio) and cell.key in run.rows:
            cells.setdefault(cell.variant, []).append(cell)
    if any(run.rows[cell.key].labels != "single" for own in cells.values() for cell in own):
        return []
    found = {
        variant: [confusion(run.predictions(cell.key), unit, run.plan.pool) for cell in cells[variant]]
        for variant in variants
        if variant in cells
    }
    return [
        Confusion(variant, len({cell.seed for cell in cells[variant]}), np.sum(counts, axis=0))
        for variant, counts in found.items()
        if np.any(counts)
    ]


def confusion(predictions: Predictions, unit: str, pool: Pool = "mean") -> NDArray[np.int64]:
    """(C, C) counts of true class by most probable class; a recording has the pooled probability of its windows."""
    test = resampled_test_set(predictions, unit, resamples=0, pool=pool)
    decisions = decide(pooled(test, predictions.probability), multi=False)  # (n, C)
    return np.asarray(test.truth.T @ decisions)


RIVALS = ("clocs", "pclr", "comet")
"""Methods that the paper compares its queue sizes with: 'M = 1k already beats them'."""


@dataclass(frozen=True)
class Sweep:
    """Scores of a method over the values of one of its knobs, at one label ratio."""

    of: str
    knob: str
    ratio: float
    values: tuple[Any, ...]
    """In ascending order where they are numbers, else as swept."""
    positions: tuple[float, ...]
    """Position of each value on the axis."""
    own: Any
    """The unchanged method's value; None where it was not swept."""
    points: pd.DataFrame
    """`BAND` and the column `position`."""
    lines: pd.DataFrame
    """`BAND` of the reference rows, at the same ratio."""


def panels(found: pd.DataFrame, plan: Plan) -> dict[str, str]:
    """Dataset -> title, for the datasets of a frame of bands, in the plan's order; Overall last."""
    there = set(found["dataset"])
    titles = {name: str(facts["title"]) for name, facts in plan.datasets.items() if name in there}
    return titles | ({OVERALL: TITLES[OVERALL]} if OVERALL in there else {})


def compared(plan: Plan) -> list[str]:
    """The compared methods and the gates, in the order of the table."""
    return [name for name in plan.variants if role_of(plan, name)["role"] in (METHOD, GATE)]


def label_curves(plan: Plan, found: pd.DataFrame) -> pd.DataFrame:
    """The bands of compared methods and gates; empty for fewer than two label ratios."""
    rows = found[found["variant"].isin(compared(plan))]
    return rows if rows["ratio"].nunique() > 1 else rows.iloc[:0]


def sweeps(plan: Plan, found: pd.DataFrame, evaluation: str) -> Iterator[Sweep]:
    """The sweeps of a plan, one per method, knob and label ratio with at least two scored values."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for name in plan.variants:
        facts = role_of(plan, name)
        if facts["role"] == SWEEP:
            groups.setdefault((str(facts["of"]), str(facts["knob"])), {})[name] = facts["value"]
    for (of, knob), swept in groups.items():
        points = found[found["variant"].isin(list(swept))]
        for ratio, at_ratio in points.groupby("ratio", sort=False):
            if at_ratio["variant"].nunique() > 1:
                cells = [cell for cell in plan.cells if (cell.evaluation, cell.ratio) == (evaluation, ratio)]
                yield _sweep(of, knob, swept, at_ratio, found[found["ratio"] == ratio], cells)


def _sweep(
    of: str, knob: str, swept: dict[str, Any], points: pd.DataFrame, found: pd.DataFrame, cells: Sequence[PlannedCell]
) -> Sweep:
    values = in_order([swept[name] for name in dict.fromkeys(points["variant"])])
    where = dict(zip(map(str, values), positions(values), strict=True))  # a value may be a list
    keys = {name: {cell.key for cell in cells if cell.variant == name} for name in (of, *swept)}
    own = [value for name, value in swept.items() if keys[of] and keys[name] == keys[of]]
    rivals = {name: place for place, name in enumerate((*RIVALS, UNTRAINED)) if name != of}
    return Sweep(
        of=of,
        knob=knob,
        ratio=float(points["ratio"].iloc[0]),
        values=tuple(values),
        positions=tuple(where.values()),
        own=own[0] if own else None,
        points=points.assign(position=points["variant"].map(lambda name: where[str(swept[name])])).sort_values(
            "position"
        ),
        lines=found[found["variant"].isin(list(rivals))].sort_values("variant", key=lambda name: name.map(rivals)),
    )


def in_order(values: Sequence[Any]) -> list[Any]:
    """Numbers ascending; other values in the given order."""
    return sorted(values) if all(isinstance(value, int | float) for value in values) else list(values)


def positions(values: Sequence[Any]) -> list[float]:
    """log2 of whole numbers, 0 one step below the smallest other; other values evenly spaced."""
    if not all(type(value) is int and value >= 0 for value in values):
        return [float(index) for index in range(len(values))]
    least = min((value for value in values if value), default=1)
    return [math.log2(value) if value else math.log2(least) - 1 for value in values]
