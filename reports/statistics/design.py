"""The design of a comparison: what a grid of other seeds, labelled subsets and test patients would tell apart.

Of a report that is there, a pilot, the variance of each pair's difference in Overall is taken apart: s_e^2 between
encoders (with the seeds of their fine-tuning), s_l^2 between the labelled subsets of one encoder, both measured by a
one-way analysis of variance, and V_p of P test patients. What the test patients add to single encoders and subsets is
part of s_e and s_l, so that a grid of more test patients is predicted a little too wide. S encoders a row, L subsets
each and P' test patients have

    V_seeds = (s_e^2 + s_l^2 / L) / S,    V_patients = V_p P / P'

and the interval and the detectable difference follow as in `reports.statistics.estimates`. The detectable difference is
at the level that the first of m pairs must pass by Holm's correction, 0.05 / m: the median pair needs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import OVERALL
from reports.statistics.bootstrap import Floats, ScoreColumn
from reports.statistics.estimates import LEVEL, POWER, Estimate, Tail, estimate

DESIGN = "design"
"""Name of the frame, and of its file in a report's folder."""
FEWEST_SEEDS = 3
"""With two seeds no pair has an interval that is worth a prediction."""


@dataclass(frozen=True)
class PairParts:
    """The variance of a pair's difference in Overall, a score in [0, 1], in its parts."""

    seeds: int
    """S of the pilot."""
    subsets: int
    """L of the pilot."""
    patients: int
    """P of the pilot: the fewest test patients of a dataset."""
    encoders_sd: float
    """s_e; of a pilot with one subset per encoder that of both."""
    subsets_sd: float
    """s_l; 0 where the pilot has one subset per encoder."""
    patients_se: float
    """The root of V_p."""


@dataclass(frozen=True)
class Reach:
    """What a design tells of a pair; scores in [0, 1]."""

    half_width: float
    """Of the 95 % interval of its difference."""
    detectable: float
    """The true difference that is significant after Holm's correction with power 80 %."""
    encoders_share: float
    """Share of the encoders in the variance; the rest is of subsets and patients."""
    subsets_share: float


def parts_of(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """One line per pair of rows in Overall, of the columns of one ratio: the ratio, the rows, and `PairParts`."""
    lines = []
    for column in columns:
        if column.metric != OVERALL or len(column.seeds) < FEWEST_SEEDS:
            continue
        runs = overall_runs([own for own in columns if own.dataset and own.metric in COLUMNS])  # (V, S, L)
        for first, second in combinations(range(len(column.variants)), 2):
            names = {"first": column.variants[first], "second": column.variants[second]}
            found = estimate(column.scores[first] - column.scores[second], column.patients)
            if parts := _parts(found, runs[first] - runs[second], column.patients):
                lines.append({"ratio": column.ratio, **names} | asdict(parts))
    return pd.DataFrame(lines, columns=["ratio", "first", "second", *PairParts.__annotations__])


def overall_runs(columns: Sequence[ScoreColumn]) -> Floats:
    """(V, S, L) Overall of each labelled subset on the test set: the mean of the columns that have a score."""
    each = [own.scores[:, :, None, 0] if own.runs is None else own.runs[..., 0] for own in columns]
    return np.asarray(np.mean([own for own in each if np.isfinite(own).any()], axis=0))


def _parts(found: Estimate, runs: Floats, patients: int) -> PairParts | None:
    """Those of a pair from its estimate and its (S, L) differences; None if it has no interval or a run is missing."""
    if np.isnan(found.low) or not found.seeds_se or not np.isfinite(runs).all():
        return None
    seeds, subsets = runs.shape
    within = float(runs.var(axis=1, ddof=1).mean()) if subsets > 1 else 0.0
    between = max(0.0, seeds * found.seeds_se**2 - within / subsets)
    return PairParts(seeds, subsets, patients, float(np.sqrt(between)), float(np.sqrt(within)), found.patients_se)


def reach_of(parts: PairParts, *, seeds: int, subsets: int, patients: int, pairs: int) -> Reach:
    """What S seeds, L subsets each and P' test patients tell of a pair among `pairs`; seeds: two or more."""
    encoders = parts.encoders_sd**2 / seeds
    drawn = parts.subsets_sd**2 / subsets / seeds
    tested = parts.patients_se**2 * parts.patients / patients
    variance = encoders + drawn + tested
    if not variance:
        return Reach(0.0, 0.0, 0.0, 0.0)
    tail, error = Tail((encoders + drawn) / variance, seeds, patients), float(np.sqrt(variance))
    detectable = (tail.quantile(LEVEL / 2 / pairs) + tail.quantile(1 - POWER)) * error
    return Reach(tail.quantile(LEVEL / 2) * error, detectable, encoders / variance, drawn / variance)


def median_reach(pilot: Sequence[PairParts], *, seeds: int, subsets: int, patients: int, pairs: int) -> Reach:
    """The medians over the pairs of a pilot."""
    each = [reach_of(own, seeds=seeds, subsets=subsets, patients=patients, pairs=pairs) for own in pilot]
    return Reach(*(float(np.median(values)) for values in zip(*(asdict(own).values() for own in each), strict=True)))
