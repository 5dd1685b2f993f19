"""Which differences there are over several runs that share no data: other hospitals, other seeds of the simulator.

Within a run pretrainings and test patients vary, and its data do not. Runs on other data are a sample of such data: the
mean difference of a pair of rows over n runs, each of which counts once, is tested by Student's t of n - 1 degrees of
freedom, with Holm's correction over the pairs of a table at a label ratio, and by two one-sided tests for equivalence
within the margin of `reports.statistics.estimates`, which are not corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from benchmark.results.verdicts import Sealed
from reports.statistics.estimates import LEVEL, MARGIN, holm
from reports.statistics.table import DIGITS


@dataclass(frozen=True)
class Pooled:
    """A pair of rows over runs that share no data, each of which counts once."""

    table: str
    evaluation: str
    ratio: float
    first: str
    second: str
    runs: int
    difference: float
    """Mean of first minus second, as a share of the scale; low and high are its 95 % interval."""
    low: float
    high: float
    p: float
    p_holm: float
    """Corrected over the pairs of its table and label ratio."""
    p_equivalent: float
    """Of this pair by itself."""


FEWEST_RUNS = 3
"""Runs whose differences have a variance worth the name."""


def pooled(runs: Sequence[Sealed]) -> tuple[Pooled, ...]:
    """The pairs of rows that all runs have; none of fewer than three runs, or where two share data or may do so."""
    if len(runs) < FEWEST_RUNS or any(_may_share(one, other) for one, other in combinations(runs, 2)):
        return ()
    lines = [
        (own.table, own.evaluation, own.ratio, *sorted((own.first, own.second)), own.difference * side, number)
        for number, run in enumerate(runs)
        for own in run.verdicts
        for side in [1 if own.first < own.second else -1]
    ]
    place = ["table", "evaluation", "ratio", "first", "second"]
    found = pd.DataFrame(lines, columns=[*place, "difference", "run"])
    wide = found.pivot(index=place, columns="run", values="difference").dropna()  # (pairs, runs)
    tested = ttest_1samp(wide, 0, axis=1)
    p = pd.Series(tested.pvalue, wide.index)
    p_holm = p.groupby(["table", "ratio"]).transform(lambda own: holm(own.to_numpy()))
    interval = tested.confidence_interval(1 - LEVEL)
    sides = [ttest_1samp(wide, end, axis=1, alternative=way).pvalue for end, way in ENDS]
    numbers = np.stack([wide.mean(axis=1), interval.low, interval.high, p, p_holm, np.maximum(*sides)], axis=1)
    rounded = numbers.round(DIGITS).tolist()  # (pairs, 6)
    return tuple(
        Pooled(str(table), str(evaluation), float(ratio), str(first), str(second), len(runs), *own)
        for (table, evaluation, ratio, first, second), own in zip(wide.index, rounded, strict=True)
    )


ENDS = ((-MARGIN, "greater"), (MARGIN, "less"))
"""Of the margin of equivalence, and on which side of each the difference lies."""


def _may_share(one: Sealed, other: Sealed) -> bool:
    """Whether a dataset of both runs has the same fingerprint, or one that is not known."""
    both = ((one.data[name], other.data[name]) for name in one.data.keys() & other.data)
    return any(own == theirs or not (own and theirs) for own, theirs in both)


POOLED_HEADER = ("Table", "Labels", "Pair", "Difference", "95 % interval", "p (Holm)", "p (equivalent)")


def pooled_texts(own: Pooled) -> tuple[str, ...]:
    """A pair under `POOLED_HEADER`, differences in points."""
    interval = f"{100 * own.low:z.1f} to {100 * own.high:z.1f}"
    numbers = (f"{100 * own.difference:+z.1f}", interval, f"{own.p_holm:.3f}", f"{own.p_equivalent:.3f}")
    return (own.table, f"{own.ratio:g}", f"{own.first} − {own.second}", *numbers)
