"""Differences in Overall of a table's rows from one reference row: what the page says and draws first.

The reference of ablations and of a sweep is the method as it is. Of the main table it is the untrained encoder where
it is compared, else the row with the highest mean Overall; of rows on a further encoder, the untrained one of that
kind. Gates are not tested, so they have no difference here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from benchmark.results.names import OVERALL, UNTRAINED, name_on
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
    repeat: float
    """The chance that a repeat finds it again (`reports.statistics.another_run.repeat`); NaN where it is not known."""


@dataclass(frozen=True)
class Differences:
    """The differences from one reference at one label ratio."""

    ratio: float
    reference: str
    rows: tuple[Difference, ...]
    """In the order of the table, without the reference."""


def differences(statistics: TableStatistics | None, unchanged: str = "") -> list[Differences]:
    """The differences in Overall from each reference at each ratio that has one, in the order of the table.

    unchanged: the row of a method's own settings, if the table is of changes of them (`Layout.unchanged`).
    """
    if statistics is None or "pairwise" not in statistics.frames:
        return []
    intervals, pairs = (statistics.frames[what] for what in ("intervals", "pairwise"))
    scores = intervals[intervals["metric"] == OVERALL].dropna(subset=["mean"])
    own = pairs[pairs["metric"] == OVERALL].dropna(subset=["difference"])
    if not len(own):
        return []
    return [
        Differences(ratio, reference, rows)
        for reference, variants in rows_of_references(scores, own, unchanged).items()
        for ratio in map(float, own["ratio"].unique())
        if (rows := tuple(_from_reference(own[own["ratio"] == ratio], reference, variants)))
    ]


def rows_of_references(scores: pd.DataFrame, pairs: pd.DataFrame, unchanged: str = "") -> dict[str, list[str]]:
    """Reference -> the rows held against it, of the lines of `intervals` and `pairwise`; the first encoder's first."""
    variants = list(dict.fromkeys([*scores["variant"], *pairs["first"], *pairs["second"]]))
    there = set(scores["variant"])
    if unchanged in there:
        return {unchanged: variants}
    first = UNTRAINED
    if first not in there:
        first = str(scores.groupby("variant", sort=False)["mean"].mean().idxmax())
    found: dict[str, list[str]] = {first: []}
    for variant in variants:
        own = name_on(UNTRAINED, variant.partition("+")[2])
        found.setdefault(own if own in variants else first, []).append(variant)
    return found


def in_one_panel(found: list[Differences]) -> list[Differences]:
    """The differences of each ratio together, from all references."""
    ratios = dict.fromkeys(own.ratio for own in found)
    return [
        Differences(ratio, found[0].reference, tuple(row for own in found if own.ratio == ratio for row in own.rows))
        for ratio in ratios
    ]


def _from_reference(pairs: pd.DataFrame, reference: str, variants: list[str]) -> Iterator[Difference]:
    """Each pair of the reference and one of these rows as row minus reference, in percent."""
    for pair in pairs.to_dict("records"):
        told = bool(pair["p_holm"] < LEVEL)
        mean, low, high = (100 * pair[name] for name in ("difference", "low", "high"))
        repeat = pair["repeat"]
        if pair["second"] == reference and pair["first"] in variants:
            yield Difference(pair["first"], mean, low, high, told, repeat)
        elif pair["first"] == reference and pair["second"] in variants:
            yield Difference(pair["second"], -mean, -high, -low, told, repeat)
