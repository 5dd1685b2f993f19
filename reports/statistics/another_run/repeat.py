"""The chance that a repeat finds a significant difference again: with as many other seeds, on the same test patients.

A mean difference d over S seeds has the seeds' variance V_seeds, estimated with S - 1 degrees of freedom, and the test
patients' V_patients, which a repeat on the same patients shares. With flat priors for the true difference and for the
logarithm of its variance v, a repeat has

    v = (S - 1) V_seeds / X,    d' = d + sqrt(2 v) Z,    V_seeds' = v X' / (S - 1)

with X and X' chi-squared of S - 1 degrees of freedom and Z normal. It finds d again where d' has the sign of d and the
p value of `reports.statistics.interval` is below the level that Holm's correction asked of d.

Simulated (test_repeat.py), the chance is a few points too low where true differences of all sizes are alike, and too
high where most are no larger than their errors (Goodman, 1992, "A comment on replication, p-values and evidence").
"""

from __future__ import annotations

import numpy as np

from reports.statistics.interval import LEVEL, beyond

EXPECTED = 0.9
"""From this chance on, a repeat is expected to find the difference."""
DRAWS = 20_000


def chance_of_repeat(
    difference: float, patients_se: float, seeds_se: float, seeds: int, patients: int, *, share: float
) -> float:
    """The chance in [0, 1] that a repeat finds `difference`; NaN for a single seed.

    share: the part of the level that Holm's correction leaves to this test, p / p_holm.
    """
    if seeds < 2:
        return float("nan")
    generator, freedom = np.random.default_rng(0), seeds - 1
    variance = freedom * seeds_se**2 / generator.chisquare(freedom, DRAWS)
    repeated = abs(difference) + np.sqrt(2 * variance) * generator.standard_normal(DRAWS)
    of_seeds = variance * generator.chisquare(freedom, DRAWS) / freedom
    total = patients_se**2 + of_seeds
    p = 2 * beyond(np.abs(repeated) / np.sqrt(total), of_seeds / total, seeds, patients)
    return float(((p < share * LEVEL) & (repeated > 0)).mean())
