"""Intervals and paired tests of mean scores over seeds, on test patients that all seeds and methods share.

Two things are sampled, seeds and test patients, as readers and cases are in studies of many readers and many cases
(Obuchowski and Rockette, 1995, "Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests";
Hillis, 2007, "A comparison of denominator degrees of freedom methods for multiple observer ROC analysis"). From the
jackknife pseudo-values X of a score or of a difference, S seeds x P patients, the variance of its mean is

    V = V_seeds + V_patients,    V_seeds = s^2 / S,    V_patients = max(0, MS_patients - MS_rest) / (S P)

with s^2 the variance over seeds, and the degrees of freedom of its t test are (S - 1) (V / V_seeds)^2, at most P - 1.
With two seeds nothing is subtracted: where their scores are close by chance, V would be far below the jackknife's own.
Where parts of the patients have encoders of their own (`crossfitted` in a plan), nothing is subtracted from
MS_patients, since each seed deals its parts anew, and above five seeds V_patients is enlarged: no variance of fixed
predictions sees the training patients whom parts and seeds share (Bengio and Grandvalet, 2004, "No unbiased estimator
of the variance of K-fold cross-validation"). A seed is one unit, whatever the number of its parts.
V_seeds of a pair is moderated by those of all pairs of its column (`reports.moderation`). The pairs of a column are one
family of tests (Holm, 1979, "A simple sequentially rejective multiple test procedure"). Two rows are equivalent where
two one-sided tests find their difference within a margin (Schuirmann, 1987).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm
from scipy.stats import t as student

from benchmark.results.arrays import Doubles, Ints, Positions
from benchmark.results.names import OVERALL, UNTRAINED, is_untrained, name_on
from reports.columns import COLUMN_ID, ScoreColumn, score_columns
from reports.layouts import Layout
from reports.moderation import EPSILON, Estimate, added, estimate_over_seeds, moderated_variances
from reports.results import Run

LEVEL, POWER = 0.05, 0.8
NEAR = 0.05
"""A row further below the best is not marked as inseparable from it, however wide its interval."""
FEW_SEEDS, ENLARGED = 5, 1.5
"""Seeds up to which V_patients of a cross-fitting stands as it is, and how many times as large it is above them."""
SPREAD_PATIENTS, SPREAD_SEEDS = 0.10, 0.03
"""Deviation of the difference of two rows in the AUROC of a dataset, over one test patient and over seeds, before a
run: that of the median pair of `small` (docs/evidence/SIMULATED.md). Other data differ by a factor of two."""
DETECTABLE = {1: "detectable", 2: "detectable_2x", 4: "detectable_4x"}
"""Times the pretrainings for which the detectable difference is stated."""
ENDS = ["low", "high", "low_holm", "high_holm"]
INTERVALS = [*COLUMN_ID, "variant", "mean", "low", "high", "patients_se", "seeds_se", "seeds"]
PAIRS = [
    *COLUMN_ID, "first", "second", "difference", *ENDS, "p", "p_holm", "p_beyond", "p_equivalent", "patients_se",
    "seeds_se", "df", "seeds", *DETECTABLE.values(),
]  # fmt: skip


@dataclass(frozen=True)
class TableStatistics:
    """The frames of a table: a line per row and column, per pair of rows, and per method and baseline."""

    intervals: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=INTERVALS))
    pairs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PAIRS))
    """Pairs of the ranked rows, and of each of them with the untrained encoder."""
    against_baselines: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PAIRS))
    """Pairs of a method (`first`) and another baseline (`second`)."""
    columns: Sequence[ScoreColumn] = ()
    """Columns of scores from which the frames are computed."""


class ScoreVariance(NamedTuple):
    """The mean of a score over seeds, and the part of its variance that is over patients."""

    mean: float
    patients_variance: float
    """NaN where a score without a patient is undefined, and for a single patient."""
    seeds: int
    """Seeds that have a score."""


@dataclass(frozen=True)
class Family:
    """Scores or differences whose tests are corrected together, n of them; arrays are (n,)."""

    mean: Doubles
    seeds_variance: Doubles
    patients_variance: Doubles
    seeds: Ints
    freedom: Doubles
    """Degrees of freedom of `seeds_variance`."""
    patients: int
    planned_seeds: int


def statistics_of(results: Run, layout: Layout, unit: str) -> TableStatistics:
    """Compute the statistics of a table in one score unit from its predictions. Raises UnequalTestSets."""
    columns = list(score_columns(results, layout.cells, layout.metrics, unit))
    baselines = [name for name in layout.variants if name in layout.baselines and not is_untrained(name)]
    apart = against_baselines(columns, baselines)
    return TableStatistics(intervals(columns), pairwise(columns, baselines), apart, columns)


def variances(blocks: Sequence[Doubles], is_crossfitted: bool = False) -> ScoreVariance:
    """Compute mean and V_patients of a score over the seeds that have it; blocks: of a row of `ScoreColumn`."""
    total = total_of(blocks)  # (S,)
    is_scored = np.isfinite(total)  # (S,)
    seeds = int(is_scored.sum())
    if seeds == 0:
        return ScoreVariance(np.nan, np.nan, 0)
    patients_variance = sum(_patients_variance(block[is_scored, 1:], is_crossfitted) for block in blocks)
    if is_crossfitted:
        patients_variance *= enlargement(seeds)
    return ScoreVariance(float(total[is_scored].mean()), patients_variance, seeds)


def total_of(blocks: Sequence[Doubles]) -> Doubles:
    """Add up the scores (S,) of the blocks of a row."""
    return np.asarray(np.sum([block[:, 0] for block in blocks], axis=0))


def _patients_variance(contribution: Doubles, is_crossfitted: bool) -> float:
    """Compute V_patients of what P patients add to the errors of S scores, (S, P)."""
    seeds = len(contribution)
    common = contribution.mean(axis=0)  # (P,)
    rest = 0.0  # nothing is subtracted of two seeds, which are too few to tell it, nor of a cross-fitting
    if seeds > 2 and not is_crossfitted:
        rest = float(((contribution - common) ** 2).sum()) / (seeds * (seeds - 1))
    variance = float((common**2).sum()) - rest
    return variance if np.isnan(variance) else max(0.0, variance)


def enlargement(seeds: int) -> float:
    """Return the factor of V_patients where patients are tested in parts by encoders of their own."""
    return ENLARGED if seeds > FEW_SEEDS else 1.0


def intervals(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """Compute a line per row of each column: `COLUMN_ID`, variant, mean, low, high, errors and seeds."""
    frame = means_with_intervals(columns)
    frame[["low", "high"]] = frame[["low", "high"]].clip(0, 1)
    return frame


def means_with_intervals(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """Compute the lines of `intervals` of rows that may be below zero, as differences are."""
    lines = []
    for column in columns:
        estimates = [estimate_over_seeds(total_of(blocks)) for blocks in column.rows.values()]
        if column.seeds:
            of_seeds = [estimate_over_seeds(column.seeds[row]) for row in column.rows]
            estimates = [added(one, other) for one, other in zip(estimates, of_seeds, strict=True)]
        tests = _tested(_family_of(list(column.rows.values()), column.is_crossfitted, estimates), column)
        tests["mean"] = tests["difference"]
        tests["variant"] = list(column.rows)
        lines.append(column.identity | tests)
    return _joined(lines, INTERVALS)


def pairwise(columns: Sequence[ScoreColumn], baselines: Collection[str] = ()) -> pd.DataFrame:
    """Compute a line per pair of rows of each column: `COLUMN_ID`, first, second, their difference and its tests.

    difference: first minus second; low, high: its 95 % interval; low_holm, high_holm: the one that excludes zero just
    where p_holm is below `LEVEL`. p_beyond: of a difference within the margin, in its direction, p_equivalent: of one
    beyond it, adjusted likewise. detectable, detectable_2x, detectable_4x: the true difference that one test finds with
    power 80 %, with these seeds, twice and four times as many. baselines: rows that are left out.
    """
    families = []
    for column in columns:
        ranked = [row for row in column.rows if row not in baselines]
        families.append(_compared(column, list(combinations(ranked, 2)), baselines))
    return _joined(families, PAIRS)


def against_baselines(columns: Sequence[ScoreColumn], baselines: Collection[str]) -> pd.DataFrame:
    """Compute a line per trained row and baseline of each column, as of `pairwise`; they are a family of their own."""
    families = []
    for column in columns:
        methods = [row for row in column.rows if row not in baselines and not is_untrained(row)]
        there = [row for row in column.rows if row in baselines]
        families.append(_compared(column, list(product(methods, there)), baselines))
    return _joined(families, PAIRS)


def _compared(column: ScoreColumn, pairs: Sequence[tuple[str, str]], baselines: Collection[str]) -> dict[str, Any]:
    """Test the differences of pairs of rows of a column, of which untrained rows and baselines stand apart."""
    if not pairs:
        return {}
    subtract = difference if column.is_paired else _unpaired_difference
    differences = [subtract(column.rows[first], column.rows[second]) for first, second in pairs]
    apart = [row for row in column.rows if row in baselines or is_untrained(row)]
    scores = {row: total_of(blocks) for row, blocks in column.rows.items()}
    if column.is_paired:
        estimates = moderated_variances(scores, pairs, apart)
    else:
        by_row = {row: estimate_over_seeds(by_seed) for row, by_seed in scores.items()}
        estimates = [added(by_row[first], by_row[second]) for first, second in pairs]
    if column.seeds:
        further = moderated_variances(column.seeds, pairs, apart)
        estimates = [added(one, other) for one, other in zip(estimates, further, strict=True)]
    tests = _tested(_family_of(differences, column.is_crossfitted, estimates), column)
    tests["first"] = [first for first, _ in pairs]
    tests["second"] = [second for _, second in pairs]
    return column.identity | tests


def difference(first: Sequence[Doubles], second: Sequence[Doubles]) -> list[Doubles]:
    """Subtract the (S, 1 + P) blocks of one row from those of another, dataset by dataset."""
    return [one - other for one, other in zip(first, second, strict=True)]


def _unpaired_difference(first: Sequence[Doubles], second: Sequence[Doubles]) -> list[Doubles]:
    """Subtract rows of S and S' independent runs: blocks (S + S', 1 + P) whose mean has the sum of their variances."""
    blocks = []
    for one, other in zip(first, second, strict=True):
        runs = [block[np.isfinite(block[:, 0])] for block in (one, other)]
        mean = runs[0].mean(axis=0) - runs[1].mean(axis=0)  # (1 + P,)
        total = sum(map(len, runs))
        deviations = []
        for block in runs:
            scale = np.sqrt(total * (total - 1) / len(block) / max(1, len(block) - 1))
            deviations.append(scale * (block - block.mean(axis=0)))
        blocks.append(mean + np.vstack(deviations))
    return blocks


def _joined(families: Sequence[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Join families of lines to one frame with the columns that are named."""
    frames = [pd.DataFrame(family) for family in families if family]
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns]


def _tested(family: Family, column: ScoreColumn) -> dict[str, Any]:
    """Compute intervals and tests of one family of scores or differences: name of `PAIRS` -> (n,)."""
    has_several_seeds = family.seeds > 1
    size = np.abs(family.mean)
    error, df = _error(family)
    error[(error < EPSILON) & (size > EPSILON)] = np.nan  # without scatter there is nothing to test with
    is_same = error < EPSILON  # one run under two names, or scores on too few patients to differ
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(is_same, 1.0, 2 * student.sf(size / error, df))
        beyond = (size - column.margin) / error
        p_beyond = np.where(is_same, 1.0, 2 * student.sf(beyond, df))
        p_equivalent = np.where(is_same, 1.0, student.sf(-beyond, df))  # no variance is no evidence
    half = student.isf(LEVEL / 2, df) * error
    half_holm = student.isf(_holm_levels(p) / 2, df) * error
    tests = {
        "difference": family.mean,
        "low": family.mean - half,
        "high": family.mean + half,
        "low_holm": family.mean - half_holm,
        "high_holm": family.mean + half_holm,
    }
    for name in tests:
        tests[name] = np.clip(tests[name], -1, 1)
    tests["p"] = p
    tests["p_holm"] = holm(p)
    tests["p_beyond"] = holm(p_beyond)
    tests["p_equivalent"] = holm(p_equivalent)
    tests["patients_se"] = np.sqrt(family.patients_variance)
    tests["seeds_se"] = np.where(has_several_seeds, np.sqrt(family.seeds_variance), np.nan)
    tests["df"] = df
    tests["seeds"] = family.seeds
    for times, name in DETECTABLE.items():
        more = _with_pretrainings(family, times, column.is_crossfitted)
        is_known = has_several_seeds | (times == 1)
        tests[name] = np.where(is_known, _detectable(more), np.nan)
    return tests


def _family_of(scores: Sequence[Sequence[Doubles]], is_crossfitted: bool, estimates: Sequence[Estimate]) -> Family:
    """Make a family of scores or differences, each a list of blocks; estimates: their variances over seeds."""
    facts = pd.DataFrame([variances(blocks, is_crossfitted) for blocks in scores])
    seeds_variance, freedom = np.transpose(estimates)
    return Family(
        mean=facts["mean"].to_numpy(),
        seeds_variance=seeds_variance,
        patients_variance=facts["patients_variance"].to_numpy(),
        seeds=facts["seeds"].to_numpy(),
        freedom=freedom,
        patients=min(block.shape[1] - 1 for block in scores[0]),
        planned_seeds=len(scores[0][0]),
    )


def _with_pretrainings(family: Family, times: int, is_crossfitted: bool) -> Family:
    """Return a family as it would be with `times` as many pretrainings."""
    patients_variance = family.patients_variance
    if is_crossfitted:
        planned = family.planned_seeds
        patients_variance = patients_variance * enlargement(times * planned) / enlargement(planned)
    freedom = family.freedom + (times - 1) * family.seeds
    variance = family.seeds_variance / times
    return replace(family, seeds_variance=variance, patients_variance=patients_variance, freedom=freedom)


def _error(family: Family) -> tuple[Doubles, Doubles]:
    """Compute standard errors and degrees of freedom (n,), (n,) (Hillis, 2007)."""
    total = family.seeds_variance + family.patients_variance
    share = np.full(total.shape, np.inf)  # of the variance to that over seeds
    np.divide(total, family.seeds_variance, out=share, where=family.seeds_variance > EPSILON**2)
    df = np.where(family.freedom > 0, family.freedom, np.inf) * share**2
    return np.sqrt(total), np.clip(df, 1, max(1, family.patients - 1))


def _detectable(family: Family) -> Doubles:
    """Compute the true differences (n,) that one test finds with power `POWER`."""
    error, df = _error(family)
    quantiles = student.isf(LEVEL / 2, df) + student.isf(1 - POWER, df)
    return np.asarray(quantiles * error)


def expected_difference(effective: Sequence[float], seeds: int) -> float:
    """Return the difference in the headline that a run will detect, in the median pair, from its size alone.

    effective: test patients of each dataset (`benchmark.data.audit.SizeOfTest`).
    """
    inverse = sum(1 / patients for patients in effective) / len(effective) ** 2
    seeds_variance = SPREAD_SEEDS**2 / len(effective) / seeds if seeds > 1 else 0.0
    family = Family(
        mean=np.zeros(1),
        seeds_variance=np.array([seeds_variance]),
        patients_variance=np.array([SPREAD_PATIENTS**2 * inverse]),
        seeds=np.array([seeds]),
        freedom=np.array([seeds - 1.0]),
        patients=round(min(effective)),
        planned_seeds=seeds,
    )
    return float(_detectable(family)[0])


def median_detectable(pairs: pd.DataFrame, times: int = 1) -> float:
    """Return the detectable difference in the headline, of the median pair, with `times` the pretrainings, or NaN."""
    overall = pairs[(pairs["metric"] == OVERALL) & (pairs["detectable"] > 0)]
    return float(overall[DETECTABLE[times]].dropna().median())


def median_error(pairs: pd.DataFrame) -> float:
    """Return the standard error of a difference in the headline, of the median pair."""
    overall = pairs[pairs["metric"] == OVERALL]
    errors = np.hypot(overall["patients_se"], overall["seeds_se"].fillna(0))
    return float(np.nanmedian(errors))


def needed_error(margin: float) -> float:
    """Return the standard error with which two equal rows are found equivalent with power `POWER`, by one test."""
    return float(margin / (norm.isf(LEVEL) + norm.isf((1 - POWER) / 2)))


def holm(p: Doubles) -> Doubles:
    """Adjust the p values (n,) of one family; NaN stays NaN and does not count."""
    order = _finite_in_order(p)
    remaining = np.arange(len(order), 0, -1)
    raised = np.maximum.accumulate(p[order] * remaining)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(1, raised)
    return adjusted


def _holm_levels(p: Doubles) -> Doubles:
    """Compute the level (n,) that each p value is held against; that of the first accepted one for all after it."""
    levels = np.full(len(p), LEVEL)
    order = _finite_in_order(p)
    if len(order):
        steps = LEVEL / np.arange(len(order), 0, -1)
        rejected = np.minimum.accumulate(p[order] < steps)
        first_accepted = min(rejected.sum(), len(steps) - 1)
        levels[order] = np.where(rejected, steps, steps[first_accepted])
    return levels


def _finite_in_order(p: Doubles) -> Positions:
    """Find the positions of the finite p values (n,), the smallest first."""
    finite = int(np.isfinite(p).sum())
    return np.argsort(p)[:finite]


def both_ways(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair twice, as the difference of each of its rows, `variant`, from the other, `reference`."""
    forward = pairs.rename(columns={"first": "variant", "second": "reference"})
    mirrored = pairs.rename(columns={"first": "reference", "second": "variant"})
    swapped = ["difference", "high", "low", "high_holm", "low_holm"]
    mirrored[["difference", *ENDS]] = -pairs[swapped].to_numpy()
    return pd.concat([forward, mirrored], ignore_index=True)


def differences(statistics: TableStatistics, unchanged: str = "") -> pd.DataFrame:
    """Compare the headline of each row with its reference: ratio, reference, variant, and the tests of `pairwise`.

    The reference of ablations and of a sweep is the method as it is (`unchanged`); of the main table the untrained
    encoder where it is compared, else the row with the highest mean; of rows on a further encoder the untrained one of
    that kind, of an encoder from outside its untrained twin. Columns are added by `judged`. Empty where nothing is
    compared.
    """
    overall = statistics.intervals.query("metric == @OVERALL").dropna(subset=["mean"])
    pairs = statistics.pairs.query("metric == @OVERALL").dropna(subset=["difference"])
    pairs = both_ways(pairs)
    if pairs.empty:
        return judged(pairs)
    overall = overall[overall["variant"].isin(pairs["variant"])]
    rows = list(dict.fromkeys(overall["variant"]))
    means = overall.groupby("variant", sort=False)["mean"].mean()
    best = str(means.idxmax())
    reference_of = {}
    for row in rows:
        _, _, encoder = row.partition("+")
        twin = name_on(UNTRAINED, row)
        candidates = (unchanged, twin, name_on(UNTRAINED, encoder), UNTRAINED, best)
        reference_of[row] = next(name for name in candidates if name in rows)
    chosen = pairs[pairs["reference"] == pairs["variant"].map(reference_of)]
    order = chosen.assign(ratio=-chosen["ratio"], variant=chosen["variant"].map(rows.index))
    in_order = order.sort_values(["ratio", "variant"]).index
    return judged(chosen.loc[in_order].reset_index(drop=True))


def judged(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs with what their tests say at `LEVEL`: `significant`, `beyond` the margin, `equivalent`."""
    return pairs.assign(
        significant=pairs["p_holm"] < LEVEL,
        beyond=pairs["p_beyond"] < LEVEL,
        equivalent=pairs["p_equivalent"] < LEVEL,
    )


def baseline_claims(statistics: TableStatistics) -> pd.DataFrame:
    """Say of each label ratio and method what its differences from baselines in the headline claim.

    above: of every baseline, since each one-sided test rejects (intersection-union test; Berger, 1982): the largest p,
    Holm over the methods. below: the baselines that it is below, Holm over all methods and baselines. A one-sided p
    counts twice: 2.5 % in each direction, as the intervals of 95 % say.
    """
    pairs = statistics.against_baselines.query("metric == @OVERALL")
    claims = []
    for ratio, lines in pairs.groupby("ratio", sort=False):
        p_above = lines["p"].where(lines["difference"] > 0, 1.0).fillna(1.0)
        p_below = lines["p"].where(lines["difference"] < 0, 1.0)
        largest = p_above.groupby(lines["first"], sort=False).max()
        is_below = holm(p_below.to_numpy()) < LEVEL
        below = lines[is_below].groupby("first")["second"].agg(tuple)
        above = holm(largest.to_numpy()) < LEVEL
        claims += [(ratio, row, claim, below.get(row, ())) for row, claim in zip(largest.index, above, strict=True)]
    return pd.DataFrame(claims, columns=["ratio", "variant", "above", "below"])
