"""The design of a comparison: what a grid of other seeds, labelled subsets and test patients would tell apart.

Of a report that is there, a pilot, the variance of each pair's difference in Overall is taken apart: s_e^2 between
encoders, s_l^2 between the labelled subsets of one encoder and s_f^2 between fine-tunings on one subset, all measured
by a nested analysis of variance, and V_p of P test patients. A source that the pilot does not vary is part of the one
before it. What the test patients add to single encoders and runs is part of these too, so that a grid of more test
patients is predicted a little too wide. S encoders a row, L subsets each, F fine-tunings on each and P' test patients
have

    V_seeds = (s_e^2 + (s_l^2 + s_f^2 / F) / L) / S,    V_patients = V_p P / P'

and the interval and the detectable difference follow as in `reports.statistics.estimates`: the variances of the pilot's
pairs moderate each other, and tell how alike those of the grid will be. The detectable difference is at the level that
the first of m pairs must pass by Holm's correction, 0.05 / m: the median pair needs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from benchmark.results.metrics import COLUMNS
from benchmark.results.names import OVERALL
from reports.statistics.bootstrap import Floats, ScoreColumn
from reports.statistics.estimates import (
    LEVEL,
    NOTHING_COMMON,
    POWER,
    CommonVariance,
    Estimate,
    Tail,
    bounded,
    common_variance,
    estimate,
    moderated,
)

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
    tunings_sd: float
    """s_f; 0 of a frozen encoder, and where the pilot has one fine-tuning per subset."""
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
    """Share of the encoders in the variance; the rest is of the test patients."""
    subsets_share: float
    tunings_share: float


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
            if parts := pair_parts(found, runs[first] - runs[second], columns[0].repeats, column.patients):
                lines.append({"ratio": column.ratio, **names} | asdict(parts))
    return pd.DataFrame(lines, columns=["ratio", "first", "second", *PairParts.__annotations__])


def overall_runs(columns: Sequence[ScoreColumn]) -> Floats:
    """(V, S, L) Overall of each run of a seed on the test set: the mean of the columns that have a score."""
    each = [own.scores[:, :, None, 0] if own.runs is None else own.runs[..., 0] for own in columns]
    return np.asarray(np.mean([own for own in each if np.isfinite(own).any()], axis=0))


def pair_parts(found: Estimate, runs: Floats, repeats: int, patients: int) -> PairParts | None:
    """The parts of a pair from its estimate and its (S, L) differences; None without an interval or a run."""
    if np.isnan(found.low) or not found.seeds_se or not np.isfinite(runs).all():
        return None
    nested = runs.reshape(len(runs), -1, repeats)  # (S, L / F, F)
    seeds, subsets, _ = nested.shape
    tunings = float(nested.var(axis=2, ddof=1).mean()) if repeats > 1 else 0.0
    drawn = float(nested.mean(axis=2).var(axis=1, ddof=1).mean()) if subsets > 1 else 0.0  # s_l^2 + s_f^2 / F
    least = (drawn if subsets > 1 else tunings / repeats) / subsets
    total = seeds * found.seeds_se**2
    within = min(1.0, total / least) if least else 1.0  # no variance is below zero, and the parts add up to the total
    parts = max(0.0, total - least), within * max(0.0, drawn - tunings / repeats), within * tunings
    encoders, of_subsets, of_tunings = map(float, np.sqrt(parts))
    return PairParts(seeds, subsets, patients, encoders, of_subsets, of_tunings, found.patients_se)


def of_encoders(parts: PairParts, *, seeds: int, subsets: int, repeats: int) -> tuple[float, float, float]:
    """The parts of V_seeds: of encoders, labelled subsets and fine-tunings."""
    drawn = parts.subsets_sd**2 / subsets / seeds
    return parts.encoders_sd**2 / seeds, drawn, parts.tunings_sd**2 / repeats / subsets / seeds


def reach_of(
    parts: PairParts,
    *,
    seeds: int,
    subsets: int,
    patients: int,
    pairs: int,
    repeats: int = 1,
    common: CommonVariance = NOTHING_COMMON,
) -> Reach:
    """What S seeds, L subsets each, F fine-tunings on each and P' test patients tell of a pair among `pairs`.

    seeds: two or more. common: of the variances over seeds of the pairs of the pilot.
    """
    encoders, drawn, tuned = of_encoders(parts, seeds=seeds, subsets=subsets, repeats=repeats)
    of_seeds = encoders + drawn + tuned
    freedom = seeds - 1 + bounded(common, seeds, rows_of(pairs)).freedom
    variance = of_seeds + parts.patients_se**2 * parts.patients / patients
    if not variance:
        return Reach(0.0, 0.0, 0.0, 0.0, 0.0)
    tail, error = Tail(of_seeds / variance, freedom, patients), float(np.sqrt(variance))
    detectable = (tail.quantile(LEVEL / 2 / pairs) + tail.quantile(1 - POWER)) * error
    return Reach(tail.quantile(LEVEL / 2) * error, detectable, *(own / variance for own in (encoders, drawn, tuned)))


def rows_of(pairs: int) -> int:
    """The number of rows that make so many pairs."""
    return round((1 + float(np.sqrt(1 + 8 * pairs))) / 2)


def median_reach(
    pilot: Sequence[PairParts], *, seeds: int, subsets: int, patients: int, pairs: int, repeats: int = 1
) -> Reach:
    """The medians over the pairs of a pilot, whose variances over seeds are moderated by each other's.

    Of the pilot's own grid these are the medians of its report.
    """
    own_design = {"seeds": pilot[0].seeds, "subsets": pilot[0].subsets, "repeats": repeats}
    variances = [sum(of_encoders(own, **own_design)) for own in pilot]
    common = common_variance(np.sqrt(variances), pilot[0].seeds)
    design = {"seeds": seeds, "subsets": subsets, "repeats": repeats}
    known, each = bounded(common, pilot[0].seeds, rows_of(len(pilot))), []
    for own, variance in zip(pilot, variances, strict=True):
        factor = float(np.sqrt(moderated(variance, own.seeds, known)[0] / variance)) if variance else 1.0
        encoders, drawn, tuned = factor * own.encoders_sd, factor * own.subsets_sd, factor * own.tunings_sd
        likely = replace(own, encoders_sd=encoders, subsets_sd=drawn, tunings_sd=tuned)
        each.append(reach_of(likely, **design, patients=patients, pairs=pairs, common=common))
    return Reach(*(float(np.median(values)) for values in zip(*(asdict(own).values() for own in each), strict=True)))


def parts_in(frame: pd.DataFrame) -> list[PairParts]:
    """The parts of the pairs of a frame with the columns of `parts_of`. Raises KeyError or ValueError for another."""
    fields = list(PairParts.__annotations__)
    return [PairParts(*map(int, line[:3]), *map(float, line[3:])) for line in frame[fields].itertuples(index=False)]


def shares_text(found: Reach) -> str:
    """'encoders 80 %, labelled subsets 15 %, test patients 5 %', of a variance; without sources of no share."""
    shares = {
        "encoders": found.encoders_share,
        "labelled subsets": found.subsets_share,
        "fine-tunings on a subset": found.tunings_share,
    }
    percent = {what: round(100 * share) for what, share in shares.items()}
    percent["test patients"] = 100 - sum(percent.values())
    return ", ".join(f"{what} {share} %" for what, share in percent.items() if share)
