"""Differences in Overall of a table's rows from one reference row: what the page says and draws first.

The reference is the untrained encoder where it is compared, else the row with the highest mean Overall. Gates are not
tested, so they have no difference here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.results.names import OVERALL, UNTRAINED
from reports.statistics.interval import LEVEL
from reports.statistics.of_table import TableStatistics

FIGURE = "differences-in-overall"
"""Last part of the name of the figure that draws them, after the table's name."""


@dataclass(frozen=True)
class Difference:
    """A row minus the reference, in points."""

    variant: str
    mean: float
    low: float
    """NaN, as `high`, where there is no interval."""
    high: float
    told: bool
    """Significant after Holm's correction over all pairs of the column."""


@dataclass(frozen=True)
class Differences:
    """The differences at one label ratio."""

    ratio: float
    reference: str
    rows: tuple[Difference, ...]
    """In the order of the table, without the reference."""


def differences(statistics: TableStatistics | None) -> list[Differences]:
    """The differences in Overall at each ratio that has one, in the order of the table."""
    if statistics is None or "pairwise" not in statistics.frames:
        return []
    intervals, pairs = (statistics.frames[what] for what in ("intervals", "pairwise"))
    scores = intervals[intervals["metric"] == OVERALL].dropna(subset=["mean"])
    own = pairs[pairs["metric"] == OVERALL].dropna(subset=["difference"])
    if not len(own):
        return []
    reference = reference_of(scores)
    either = own[(own["first"] == reference) | (own["second"] == reference)]
    by_ratio = [
        Differences(ratio, reference, tuple(_from_reference(either[either["ratio"] == ratio], reference)))
        for ratio in map(float, either["ratio"].unique())
    ]
    return [found for found in by_ratio if found.rows]


def reference_of(scores: pd.DataFrame) -> str:
    """The reference among the lines of `intervals`; the first of equals."""
    if UNTRAINED in set(scores["variant"]):
        return UNTRAINED
    return str(scores.groupby("variant", sort=False)["mean"].mean().idxmax())


def _from_reference(pairs: pd.DataFrame, reference: str) -> Iterator[Difference]:
    """Each pair with the reference as row minus reference, in percent."""
    for pair in pairs.to_dict("records"):
        told = bool(pair["p_holm"] < LEVEL)
        mean, low, high = (100 * pair[name] for name in ("difference", "low", "high"))
        if pair["second"] == reference:
            yield Difference(pair["first"], mean, low, high, told)
        else:
            yield Difference(pair["second"], -mean, -high, -low, told)
