"""Welch's test from printed means and standard deviations, and ranges of its p and of Holm's values under rounding.

The test is scipy's. A mean over several cells enters as one sample with its standard error and degrees of freedom
(Satterthwaite 1946). The printed numbers have one decimal, so p is a range over all means and standard deviations that
round to them. Holm's adjusted value is monotone in each p, so the lower ends give its lower end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from scipy.stats import ttest_ind_from_stats

from reports.paper.printed import HALF_STEP, Cells, Measured, Place
from reports.statistics.pairwise import holm

ALPHA = 0.05
GRID = 21
"""Number of standard deviations tried in the rounding interval."""


class Difference(NamedTuple):
    """First minus second, in points, with its 95 % interval and two-sided p value."""

    points: float
    low: float
    high: float
    p: float


class WelchTest(NamedTuple):
    """A variant against its best rival in one cell, with ranges under rounding and Holm's correction over all cells."""

    place: Place
    rival: str
    difference: Difference
    p_range: tuple[float, float]
    holm: float
    holm_range: tuple[float, float]

    @property
    def remains(self) -> bool:
        """Significant after Holm's correction."""
        return self.holm < ALPHA

    @property
    def depends_on_rounding(self) -> bool:
        """Significance changes within the rounding interval."""
        return self.holm_range[0] < ALPHA <= self.holm_range[1]


class Sample(NamedTuple):
    """Input of Welch's test: variance of a mean, and its number of draws n, not necessarily whole."""

    variance: float
    n: float

    @property
    def std(self) -> float:
        """Of one draw."""
        return math.sqrt(self.variance * self.n)


def p_value(points: Any, std1: Any, std2: Any, n1: float, n2: float) -> Any:
    """Two-sided p of Welch's test, element by element; 1 where both standard deviations and the difference are 0."""
    p = ttest_ind_from_stats(points, std1, n1, 0.0, std2, n2, equal_var=False).pvalue
    return np.where(np.isnan(p), 1.0, p)


def compare(first: Sequence[Measured], second: Sequence[Measured]) -> Difference:
    """Mean of the first cells minus mean of the second, which have the same places, in points.

    With one cell each this is Welch's test; several, of different datasets, count as independent. Interval and p are
    NaN where a cell has a single seed.
    """
    points = float(np.mean([cell.mean for cell in first]) - np.mean([cell.mean for cell in second]))
    if any(cell.std is None or cell.seeds < 2 for cell in (*first, *second)):
        return Difference(points, math.nan, math.nan, math.nan)
    one, two = sample_of(first), sample_of(second)
    p = float(p_value(points, one.std, two.std, one.n, two.n))
    total = one.variance + two.variance
    if total == 0:
        return Difference(points, points, points, p)
    freedom = total**2 / (one.variance**2 / (one.n - 1) + two.variance**2 / (two.n - 1))
    low, high = student.interval(1 - ALPHA, freedom, points, total**0.5)
    return Difference(points, float(low), float(high), p)


def sample_of(cells: Sequence[Measured]) -> Sample:
    """The mean of some cells as one sample, with Satterthwaite's degrees of freedom."""
    variances = [(cell.std or 0.0) ** 2 / cell.seeds / len(cells) ** 2 for cell in cells]
    total = sum(variances)
    parts = sum(variance**2 / (cell.seeds - 1) for variance, cell in zip(variances, cells, strict=True))
    n = 1 + (total**2 / parts if parts else sum(cell.seeds - 1 for cell in cells))
    return Sample(total, n)


def p_range(first: Measured, second: Measured) -> tuple[float, float]:
    """Smallest and largest p of Welch's test within rounding. Raises ValueError without standard deviations."""
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
    """A variant against the best of its rivals in each of its cells; the first rival on a tie."""
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
