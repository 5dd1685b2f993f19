"""How many seeds or test patients it would take to find a difference significant, from the parts of its error.

With V_patients and V_seeds of `reports.statistics.interval`, S' seeds have V = V_patients + V_seeds S / S', and k times
the patients V = V_patients / k + V_seeds. A difference is found where it is at least the detectable one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from reports.statistics.interval import LEVEL, POWER, Tail

MOST_SEEDS, MOST_TIMES = 100, 100
"""Beyond these, no number is given."""
MANY_PATIENTS = 1_000_000
"""Degrees of freedom of the patients' part: so many that Student's tail is normal."""


def detectable(patients_se: float, seeds_se: float, seeds: int) -> float:
    """The true difference that is significant at level 0.05 with power 0.8, in the unit of the errors."""
    variance = patients_se**2 + seeds_se**2
    if not variance:
        return 0.0
    tail = Tail(seeds_se**2 / variance, seeds, MANY_PATIENTS)
    return (tail.quantile(LEVEL / 2) + tail.quantile(1 - POWER)) * float(np.sqrt(variance))


def seeds_needed(difference: float, patients_se: float, seeds_se: float, seeds: int) -> int | None:
    """The least number of seeds, not below the present one; None: more than `MOST_SEEDS`, or not known (one seed)."""

    def found(count: int) -> bool:
        return detectable(patients_se, seeds_se * float(np.sqrt(seeds / count)), count) <= abs(difference)

    return None if np.isnan(seeds_se) else _first(found, range(seeds, MOST_SEEDS + 1))


def patients_needed(difference: float, patients_se: float, seeds_se: float, seeds: int) -> int | None:
    """The least multiple of the test patients; None: more than `MOST_TIMES`. The error of a single seed is left out."""

    def found(times: int) -> bool:
        return detectable(patients_se / float(np.sqrt(times)), float(np.nan_to_num(seeds_se)), seeds) <= abs(difference)

    return _first(found, range(1, MOST_TIMES + 1))


def _first(found: Callable[[int], bool], numbers: Iterable[int]) -> int | None:
    return next((number for number in numbers if found(number)), None)
