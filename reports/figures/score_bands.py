"""Mean and band of macro F1 over a knob's values and over label ratios. Pure.

A band is the mean over seeds ± one standard deviation (ddof = 1), as in the tables. Overall is the mean over the
datasets of each seed, then over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.results.metrics import TITLES
from benchmark.results.names import GATE, METHOD, OVERALL, SWEEP, UNTRAINED
from benchmark.results.plan import Plan, PlannedCell
from reports.runs.planned_tables import role_of

METRIC = "f1"
BAND = ("variant", "ratio", "dataset", "mean", "std", "seeds")
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


def bands(frame: pd.DataFrame, evaluation: str, unit: str) -> pd.DataFrame:
    """Mean and deviation over seeds of macro F1, in percent, with the columns `BAND`.

    frame: `Run.tidy`. Seeds without a score are left out; a single seed's deviation is NaN. Overall is over the seeds
    with a score on every dataset that any row has one on, and is left out for a single dataset.
    """
    own = (frame["evaluation"] == evaluation) & (frame["unit"] == unit) & (frame["metric"] == METRIC)
    scored = frame[own].dropna(subset=["value"])
    scored = scored.assign(value=100 * scored["value"])
    by_dataset = scored.groupby(["variant", "ratio", "dataset"], sort=False)["value"].agg(["mean", "std", "count"])
    datasets = scored["dataset"].nunique()
    by_seed = scored.groupby(["variant", "ratio", "seed"], sort=False)["value"].agg(["mean", "count"])
    whole = by_seed.loc[by_seed["count"] == datasets, "mean"]
    overall = whole.groupby(["variant", "ratio"], sort=False).agg(["mean", "std", "count"])
    parts = [by_dataset.reset_index()]
    if datasets > 1:
        parts.append(overall.reset_index().assign(dataset=OVERALL))
    return pd.concat(parts, ignore_index=True).rename(columns={"count": "seeds"})[list(BAND)]


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
    where = dict(zip(values, positions(values), strict=True))
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
        points=points.assign(position=points["variant"].map(lambda name: where[swept[name]])).sort_values("position"),
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
