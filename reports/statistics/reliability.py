"""How often what was stated with a chance happened: bins of the chance, Wilson's interval, the calibration error.

The share found in a bin of n comparisons has the interval of Wilson (1927, "Probable inference, the law of succession,
and statistical inference"), which holds where shares are near 0 or 1. It takes the comparisons as independent; those of
one run share rows and patients, so that the true interval is wider.

The calibration error is the mean of |stated - found| over the bins, weighted by their comparisons (Naeini et al. 2015,
"Obtaining well calibrated probabilities using Bayesian binning"). Chance alone makes it larger than zero: of n
independent comparisons with right chances p, stated and found differ by sqrt(2 / pi * sum p (1 - p)) / n in the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

NORMAL = 1.959964
"""Standard errors on either side of an interval at 95 %."""
BINS = 10
"""Of equal width over [0, 1]; a chance of 1 is in the last."""


@dataclass(frozen=True)
class Bin:
    """The comparisons whose stated chance lies in [low, high)."""

    low: float
    high: float
    count: int
    stated: float
    """Mean chance in [0, 1]."""
    found: int
    """How many were found again."""
    by_chance: float
    """Mean |stated - found| in [0, 1] of as many independent comparisons whose chances are right."""

    @property
    def share(self) -> float:
        """Share found again in [0, 1]."""
        return self.found / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share, at 95 %."""
        return wilson(self.found, self.count)


def wilson(found: int, count: int) -> tuple[float, float]:
    """The ends in [0, 1] of Wilson's interval at 95 % for a share found of count. Raises ValueError without a count."""
    if count < 1:
        raise ValueError("a share of nothing has no interval")
    share, z2 = found / count, NORMAL**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = NORMAL / (1 + z2 / count) * sqrt(share * (1 - share) / count + z2 / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def binned(stated: Sequence[float], found: Sequence[bool]) -> list[Bin]:
    """The bins that have a comparison, in order of the chance. stated: (n,) in [0, 1]; found: (n,)."""
    groups: dict[int, list[tuple[float, bool]]] = {}
    for chance, again in zip(stated, found, strict=True):
        place = min(int(round(chance * BINS, 9)), BINS - 1)  # rounded: 0.3 * 10 may lie below 3
        groups.setdefault(place, []).append((chance, again))
    return [
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            count=len(own),
            stated=sum(chance for chance, _ in own) / len(own),
            found=sum(again for _, again in own),
            by_chance=sqrt(2 / pi * sum(chance * (1 - chance) for chance, _ in own)) / len(own),
        )
        for place, own in sorted(groups.items())
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Mean |stated - found| in [0, 1], weighted by the comparisons of each bin; NaN without one."""
    total = sum(own.count for own in bins)
    return sum(own.count * abs(own.stated - own.share) for own in bins) / total if total else float("nan")


def error_by_chance(bins: Sequence[Bin]) -> float:
    """The calibration error in [0, 1] that right chances would have in the mean; NaN without a comparison."""
    total = sum(own.count for own in bins)
    return sum(own.count * own.by_chance for own in bins) / total if total else float("nan")
