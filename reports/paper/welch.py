"""Welch's test from printed means and standard deviations, and what rounding leaves open of it and of Holm's values.

Welch (1947): t = (m1 - m2) / sqrt(s1^2/n1 + s2^2/n2), with the degrees of freedom of Welch and Satterthwaite.
The numbers carry one decimal, so that a p value is a range: over all means and standard deviations that would be
printed alike. Holm's adjusted value rises with each of its p values, so all lower ends give its lower end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from reports.paper.printed import HALF_STEP, Cells, Measured, Place
from reports.statistics.pairwise import holm

ALPHA = 0.05
GRID = 21
"""Standard deviations tried between the two ends of what rounds to the printed one."""


class Difference(NamedTuple):
    """First minus second, in points, with its 95 % interval and two-sided p value."""

    points: float
    low: float
    high: float
    p: float


class WelchTest(NamedTuple):
    """A variant against its best rival in one cell, and the same under rounding and among all cells (Holm)."""

    place: Place
    rival: str
    difference: Difference
    p_range: tuple[float, float]
    holm: float
    holm_range: tuple[float, float]

    @property
    def remains(self) -> bool:
        """The difference is told from chance among all cells tested."""
        return self.holm < ALPHA

    @property
    def depends_on_rounding(self) -> bool:
        """Numbers that are printed alike would give the other answer."""
        return self.holm_range[0] < ALPHA <= self.holm_range[1]


def p_value(points: Any, std1: Any, std2: Any, n1: int, n2: int) -> Any:
    """Two-sided p of Welch's test, element by element; 1 where both standard deviations and the difference are 0."""
    v1, v2 = np.square(std1) / n1, np.square(std2) / n2
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.abs(points) / np.sqrt(v1 + v2)
        freedom = (v1 + v2) ** 2 / (v1**2 / (n1 - 1) + v2**2 / (n2 - 1))
    p = 2 * student.sf(statistic, np.where(np.isfinite(freedom), freedom, 1))
    return np.where(v1 + v2 > 0, p, np.where(np.equal(points, 0), 1.0, 0.0))


def compare(first: Sequence[Measured], second: Sequence[Measured]) -> Difference:
    """Mean of the first cells minus mean of the second, cell by cell of the same places.

    With one cell each this is Welch's test; several count as independent, as different datasets are, with the degrees
    of freedom of Satterthwaite. Interval and p are NaN where a cell rests on a single seed.
    """
    cells = [*first, *second]
    points = float(np.mean([cell.mean for cell in first]) - np.mean([cell.mean for cell in second]))
    if any(cell.std is None or cell.seeds < 2 for cell in cells):
        return Difference(points, math.nan, math.nan, math.nan)
    counts = [len(first)] * len(first) + [len(second)] * len(second)
    variances = [(cell.std or 0.0) ** 2 / cell.seeds / n**2 for cell, n in zip(cells, counts, strict=True)]
    total = sum(variances)
    if total == 0:
        return Difference(points, points, points, float(points == 0))
    freedom = total**2 / sum(v**2 / (cell.seeds - 1) for v, cell in zip(variances, cells, strict=True))
    reach = float(student.ppf(1 - ALPHA / 2, freedom)) * total**0.5
    p = 2 * float(student.sf(abs(points) / total**0.5, freedom))
    return Difference(points, points - reach, points + reach, p)


def p_range(first: Measured, second: Measured) -> tuple[float, float]:
    """Smallest and largest p of Welch's test over all numbers that are printed alike."""
    points = abs(first.mean - second.mean)
    std1, std2 = np.meshgrid(_would_print(first.std), _would_print(second.std))  # (GRID, GRID)
    seeds = first.seeds, second.seeds
    lowest = p_value(points + 2 * HALF_STEP, std1, std2, *seeds).min()
    highest = p_value(max(0.0, points - 2 * HALF_STEP), std1, std2, *seeds).max()
    return float(lowest), float(highest)


def _would_print(std: float | None) -> NDArray[np.float64]:
    """Standard deviations that round to the printed one: (GRID,)."""
    if std is None:
        raise ValueError("a cell without a standard deviation cannot be tested")
    return np.linspace(max(0.0, std - HALF_STEP), std + HALF_STEP, GRID)


def against_the_best(cells: Cells, variant: str, rivals: Sequence[str]) -> list[WelchTest]:
    """A variant against the best of its rivals in each of its cells; of rivals printed alike, the first."""
    pairs = {
        place: max((place._replace(variant=rival) for rival in rivals), key=lambda other: cells[other].mean)
        for place in cells
        if place.variant == variant
    }
    differences = [compare([cells[place]], [cells[rival]]) for place, rival in pairs.items()]
    ranges = [p_range(cells[place], cells[rival]) for place, rival in pairs.items()]
    adjusted = holm(np.array([difference.p for difference in differences])).tolist()
    lows, highs = (holm(ends).tolist() for ends in np.array(ranges).T)
    return [
        WelchTest(place, rival.variant, differences[index], ranges[index], adjusted[index], (lows[index], highs[index]))
        for index, (place, rival) in enumerate(pairs.items())
    ]
