"""Intervals and paired tests of mean scores over seeds, on test patients that all seeds and methods share.

Two things are sampled, seeds and test patients, as readers and cases are in studies of many readers and many cases
(Obuchowski and Rockette, 1995, "Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests";
Hillis, 2007, "A comparison of denominator degrees of freedom methods for multiple observer ROC analysis"). From the
jackknife pseudo-values X of a score or of a difference, S seeds x P patients, the variance of its mean is

    V = V_seeds + V_patients,    V_seeds = s^2 / S,    V_patients = max(0, MS_patients - MS_rest) / (S P)

with s^2 the variance over seeds, and the degrees of freedom of its t test are (S - 1) (V / V_seeds)^2, at most P - 1.
Where parts of the patients have encoders of their own (`crossfitted` in a plan), nothing is subtracted from
MS_patients, since each seed deals its parts anew, and above five seeds V_patients is enlarged: no variance of fixed
predictions sees the training patients whom parts and seeds share (Bengio and Grandvalet, 2004, "No unbiased estimator
of the variance of K-fold cross-validation"). A seed is one unit, whatever the number of its parts.
Few seeds know their variance badly, so V_seeds of a pair is moderated by those of all pairs of its column (Smyth, 2004,
"Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", section
6.2). The pairs of a column are one family of tests (Holm, 1979, "A simple sequentially rejective multiple test
procedure"). Two rows are equivalent where two one-sided tests find their difference within `MARGIN` (Schuirmann, 1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import t as student

from benchmark.results.arrays import Doubles
from benchmark.results.metrics import COLUMNS, RECALLS
from benchmark.results.names import OVERALL, UNTRAINED, name_on
from benchmark.results.store import PlannedCell, Predictions
from reports.jackknife import JACKKNIFED, leave_one_out
from reports.results import Layout, Results

LEVEL, POWER = 0.05, 0.8
MARGIN = 0.02
"""Two points: pretrainings of one method differ by as much, so that a smaller difference chooses no method."""
NEAR = 0.05
"""A row further below the best is not marked as inseparable from it, however wide its interval."""
FEW_SEEDS, ENLARGED = 5, 1.5
"""Seeds up to which V_patients of a cross-fitting stands as it is, and how many times as large it is above them."""
SPREAD_PATIENTS, SPREAD_SEEDS = 0.15, 0.30
"""Deviation of the difference of two rows in Overall over one test patient, and over seeds on one, before a run: of
simulated cohorts of 100 to 400 patients, tested in a tenth and in parts. Real ones differ by a factor of two."""
EPSILON = 1e-9
"""Standard errors and differences below it are rounding."""
DETECTABLE = {1: "detectable", 2: "detectable_2x", 4: "detectable_4x"}
"""Times the pretrainings for which the detectable difference is stated."""
COLUMN_ID = ["unit", "ratio", "dataset", "metric"]
ENDS = ["low", "high", "low_holm", "high_holm"]
INTERVALS = [*COLUMN_ID, "variant", "mean", "low", "high", "patients_se", "seeds_se", "seeds"]
PAIRS = [
    *COLUMN_ID, "first", "second", "difference", *ENDS, "p", "p_holm", "p_equivalent", "patients_se", "seeds_se", "df",
    "seeds", *DETECTABLE.values(),
]  # fmt: skip


class UnequalTestSets(Exception):
    """Two cells of one dataset have different test windows; the message names both."""


@dataclass(frozen=True)
class ScoreColumn:
    """A metric on a dataset, or Overall, at one label ratio: scores of all rows with each patient left out."""

    unit: str
    ratio: float
    dataset: str
    """'' for Overall."""
    metric: str
    rows: dict[str, list[Doubles]]
    """Variant -> (S, 1 + P) of each dataset, which add up to the score; NaN where a seed has no score."""
    is_crossfitted: bool = False
    """Whether parts of the test patients have encoders of their own, in one of the datasets."""

    @property
    def identity(self) -> dict[str, Any]:
        """The values of `COLUMN_ID`."""
        return {name: getattr(self, name) for name in COLUMN_ID}


@dataclass(frozen=True)
class TableStatistics:
    """The frames of a table: `intervals`, a line per row and column, and `pairs` of rows."""

    intervals: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=INTERVALS))
    pairs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PAIRS))


def statistics_of(results: Results, layout: Layout, unit: str) -> TableStatistics:
    """Compute the statistics of a table in one score unit from its predictions. Raises UnequalTestSets."""
    competing = [cell for cell in layout.cells if cell.variant not in layout.baselines]
    columns = list(score_columns(results, competing, layout.metrics, unit))
    return TableStatistics(intervals(columns), pairwise(columns))


def score_columns(
    results: Results, cells: Sequence[PlannedCell], metrics: Sequence[str], unit: str
) -> Iterator[ScoreColumn]:
    """Yield the columns of the finished cells of an evaluation, Overall last at each ratio. Raises UnequalTestSets."""
    metrics = [metric for metric in metrics if metric in (*JACKKNIFED, *RECALLS)]
    cells = [cell for cell in cells if cell.key in results.rows]
    seeds = sorted({cell.seed for cell in cells})
    crossfitted = {name for name, facts in results.plan.datasets.items() if facts.get("crossfitted")}
    for ratio in dict.fromkeys(cell.ratio for cell in cells):
        parts: dict[str, dict[str, list[Doubles]]] = {}
        for dataset in results.plan.datasets:
            here = [cell for cell in cells if (cell.ratio, cell.dataset) == (ratio, dataset)]
            for metric, rows in _blocks(results, here, seeds, unit, metrics).items():
                blocks_of = {name: [block] for name, block in rows.items()}
                yield ScoreColumn(unit, ratio, dataset, metric, blocks_of, dataset in crossfitted)
                if metric in COLUMNS and any(np.isfinite(block[:, 0]).any() for block in rows.values()):
                    for name, block in rows.items():
                        parts.setdefault(name, {}).setdefault(dataset, []).append(block)
        counts = {name: sum(map(len, blocks.values())) for name, blocks in parts.items()}
        most = max(counts.values(), default=0)
        whole = {name: parts[name].values() for name, count in counts.items() if count == most}
        overall = {name: [np.sum(blocks, axis=0) / most for blocks in of] for name, of in whole.items()}
        if overall:
            yield ScoreColumn(unit, ratio, "", OVERALL, overall, bool(crossfitted.intersection(*parts.values())))


def _blocks(
    results: Results, cells: Sequence[PlannedCell], seeds: Sequence[int], unit: str, metrics: Sequence[str]
) -> dict[str, dict[str, Doubles]]:
    """Metric -> variant -> (S, 1 + P) scores of cells with the same test windows, means over subsets; NaN: no cell."""
    scores: dict[str, dict[str, Doubles]] = {}
    first: Predictions | None = None
    for key in dict.fromkeys(cell.key for cell in cells):
        row, predictions = results.rows[key], results.predictions(key)
        first = first or predictions
        for name in ("patient", "recording", "truth"):
            if not np.array_equal(getattr(first, name), getattr(predictions, name)):
                raise UnequalTestSets(
                    f"cells {next(iter(scores))} and {key} were tested on different windows of {row.dataset} ({name} "
                    "differs): their difference cannot be paired; run the plan again on one version of the data"
                )
        scores[key] = leave_one_out(predictions, unit, metrics, multi=row.labels == "multi", pool=results.plan.pool)
    blocks: dict[str, dict[str, Doubles]] = {}
    variants = [name for name in results.plan.variants if any(cell.variant == name for cell in cells)]
    for metric, variant in product(metrics, variants):
        keys = {seed: [cell.key for cell in cells if (cell.variant, cell.seed) == (variant, seed)] for seed in seeds}
        missing = np.full_like(scores[cells[0].key][metric], np.nan)
        by_seed = [np.mean([scores[key][metric] for key in of] or [missing], axis=0) for of in keys.values()]
        blocks.setdefault(metric, {})[variant] = np.stack(by_seed)
    return blocks


def variances(blocks: Sequence[Doubles], is_crossfitted: bool = False) -> tuple[float, float, float, int]:
    """Compute mean, V_seeds, V_patients and number of seeds of a score, the sum of a (S, 1 + P) block per dataset.

    Seeds without a score are left out. V_seeds is 0 for a single seed; V_patients is NaN where a score without a
    patient is undefined, or there is one patient.
    """
    total = np.sum([block[:, 0] for block in blocks], axis=0)  # (S,)
    scored = np.isfinite(total)
    seeds = int(scored.sum())
    if not seeds:
        return np.nan, np.nan, np.nan, 0
    of_seeds = float(total[scored].var(ddof=1)) / seeds if seeds > 1 else 0.0
    of_patients = 0.0
    for block in blocks:
        patients = block.shape[1] - 1
        if patients < 2:
            return float(total[scored].mean()), of_seeds, np.nan, seeds
        pseudo = -(patients - 1) * block[scored, 1:]  # (S, P) up to a constant of each seed
        pseudo = pseudo - pseudo.mean(axis=1, keepdims=True)
        common = pseudo.mean(axis=0)  # (P,)
        of_patient = seeds * float((common**2).sum()) / (patients - 1)
        rest = 0.0  # of a cross-fitting nothing is subtracted: each seed deals anew
        if seeds > 1 and not is_crossfitted:
            rest = float(((pseudo - common) ** 2).sum()) / ((seeds - 1) * (patients - 1))
        of_patients += max(0.0, of_patient - rest) / seeds / patients
    of_patients *= enlargement(seeds) if is_crossfitted else 1.0
    return float(total[scored].mean()), of_seeds, of_patients, seeds


def enlargement(seeds: int) -> float:
    """Return the factor of V_patients where patients are tested in parts by encoders of their own."""
    return ENLARGED if seeds > FEW_SEEDS else 1.0


def intervals(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """Compute a line per row of each column: `COLUMN_ID`, variant, mean, low, high, errors and seeds."""
    lines = [
        one.identity | {"variant": list(one.rows)} | _tested(list(one.rows.values()), one.is_crossfitted)
        for one in columns
    ]
    frame = _joined([one | {"mean": one["difference"]} for one in lines], INTERVALS)
    frame[["low", "high"]] = frame[["low", "high"]].clip(0, 1)
    return frame


def pairwise(columns: Sequence[ScoreColumn]) -> pd.DataFrame:
    """Compute a line per pair of rows of each column: `COLUMN_ID`, first, second, their difference and its tests.

    difference: first minus second; low, high: its 95 % interval; low_holm, high_holm: the one that excludes zero just
    where p_holm is below `LEVEL`. p_equivalent: adjusted likewise. detectable, detectable_2x, detectable_4x: the true
    difference that one test finds with power 80 %, with these seeds, twice and four times as many.
    """
    families = []
    for column in columns:
        if pairs := list(combinations(column.rows, 2)):
            rows = column.rows
            differences = [[a - b for a, b in zip(rows[one], rows[other], strict=True)] for one, other in pairs]
            first, second = zip(*pairs, strict=True)
            tests = _tested(differences, column.is_crossfitted, len(rows))
            families.append(column.identity | {"first": first, "second": second} | tests)
    return _joined(families, PAIRS)


def _joined(families: Sequence[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    frames = [*map(pd.DataFrame, families)] or [pd.DataFrame(columns=columns)]
    return pd.concat(frames, ignore_index=True)[columns]


def _tested(scores: Sequence[Sequence[Doubles]], is_crossfitted: bool, rows: int = 0) -> dict[str, Any]:
    """Intervals and tests of one family of scores or differences.

    rows: number of rows that the differences are between; 0 for scores, whose variances over seeds are not moderated.
    """
    computed = [variances(blocks, is_crossfitted) for blocks in scores]
    mean, of_seeds, of_patients, seeds = map(np.array, zip(*computed, strict=True))
    most, patients = len(scores[0][0]), min(block.shape[1] - 1 for block in scores[0])
    freedom = np.maximum(seeds - 1.0, 0.0)
    moderated = (seeds == most) & (seeds > 1) & (of_seeds > EPSILON**2)
    prior, prior_freedom = common_variance(of_seeds[moderated], most - 1)
    prior_freedom = min(prior_freedom, max(0, rows - 2) * (most - 1))  # that of the rows outside a pair
    of_seeds[moderated] = (freedom * of_seeds + prior_freedom * prior)[moderated] / (freedom + prior_freedom)[moderated]
    freedom[moderated] += prior_freedom
    error, df = _error(of_seeds, of_patients, freedom, patients)
    error[(error < EPSILON) & (np.abs(mean) > EPSILON)] = np.nan  # without scatter there is nothing to test with
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(error < EPSILON, 1.0, 2 * student.sf(np.abs(mean) / error, df))  # one run under two names
        p_equivalent = np.where(error < EPSILON, 0.0, student.sf((MARGIN - np.abs(mean)) / error, df))
    half, half_holm = (student.isf(level / 2, df) * error for level in (LEVEL, _holm_levels(p)))
    ends = {"difference": mean, "low": mean - half, "high": mean + half}
    ends |= {"low_holm": mean - half_holm, "high_holm": mean + half_holm}
    statistics = {name: np.clip(end, -1, 1) for name, end in ends.items()}
    statistics |= {"p": p, "p_holm": holm(p), "p_equivalent": holm(p_equivalent), "patients_se": np.sqrt(of_patients)}
    statistics |= {"seeds_se": np.where(seeds > 1, np.sqrt(of_seeds), np.nan), "df": df, "seeds": seeds}
    for times, name in DETECTABLE.items():
        of_patients_then = of_patients
        if is_crossfitted:
            of_patients_then = of_patients * enlargement(times * most) / enlargement(most)
        detectable = _detected(of_seeds / times, of_patients_then, freedom + (times - 1) * seeds, patients)
        statistics[name] = np.where((seeds > 1) | (times == 1), detectable, np.nan)
    return statistics


def _detected(of_seeds: Doubles, of_patients: Doubles, freedom: Doubles, patients: int) -> Doubles:
    """True difference that one test finds with power 80 %."""
    error, df = _error(of_seeds, of_patients, freedom, patients)
    return np.asarray((student.isf(LEVEL / 2, df) + student.isf(1 - POWER, df)) * error)


def expected_difference(effective: Sequence[float], seeds: int) -> float:
    """Return the difference in Overall that a run will detect, in the median pair, from its size alone.

    effective: test patients of each dataset (`benchmark.data.audit.SizeOfTest`).
    """
    inverse = sum(1 / patients for patients in effective) / len(effective) ** 2
    of_seeds = np.array([SPREAD_SEEDS**2 * inverse / seeds if seeds > 1 else 0.0])
    of_patients = np.array([SPREAD_PATIENTS**2 * inverse])
    return float(_detected(of_seeds, of_patients, np.array([seeds - 1.0]), round(min(effective)))[0])


def median_detectable(pairs: pd.DataFrame, times: int = 1) -> float:
    """Return the detectable difference in Overall, of the median pair, with so many times the pretrainings, or NaN."""
    overall = pairs[(pairs["metric"] == OVERALL) & (pairs["detectable"] > 0)]
    return float(overall[DETECTABLE[times]].dropna().median())


def _error(of_seeds: Doubles, of_patients: Doubles, freedom: Doubles, patients: int) -> tuple[Doubles, Doubles]:
    """Standard error and degrees of freedom (Hillis, 2007)."""
    total = of_seeds + of_patients
    share = np.divide(total, of_seeds, out=np.full(total.shape, np.inf), where=of_seeds > EPSILON**2)
    return np.sqrt(total), np.clip(np.where(freedom > 0, freedom, np.inf) * share**2, 1, max(1, patients - 1))


def common_variance(of_seeds: Doubles, freedom: int) -> tuple[float, float]:
    """Compute the variance s0^2 and degrees of freedom d0 of the prior of variances with `freedom` each (Smyth, 2004).

    From the moments of their logarithms; fewer than three have none.
    """
    if len(of_seeds) < 3 or freedom < 1:
        return 0.0, 0.0
    logs = np.log(of_seeds)
    centre = float(logs.mean() - digamma(freedom / 2) + np.log(freedom / 2))
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2))
    if excess <= 1e-6:
        return float(np.exp(centre)), 1e6
    half = float(brentq(lambda x: polygamma(1, x) - excess, 1e-3, 1 + 1 / excess))
    return float(np.exp(centre + digamma(half) - np.log(half))), 2 * half


def holm(p: Doubles) -> Doubles:
    """Adjust the p values (n,) of one family; NaN stays NaN and does not count."""
    order = np.argsort(p)[: np.isfinite(p).sum()]
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted


def _holm_levels(p: Doubles) -> Doubles:
    """(n,) level that each p value is held against in Holm's procedure; that of the first accepted for the rest."""
    order = np.argsort(p)[: np.isfinite(p).sum()]
    steps = LEVEL / np.arange(len(order), 0, -1)
    rejected = np.minimum.accumulate(p[order] < steps)
    levels = np.full(len(p), LEVEL)
    levels[order] = np.where(rejected, steps, steps[min(rejected.sum(), len(steps) - 1)] if len(steps) else LEVEL)
    return levels


def both_ways(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return each pair twice, as the difference of each of its rows, `variant`, from the other, `reference`."""
    mirrored = pairs.rename(columns={"first": "reference", "second": "variant"})
    mirrored[["difference", *ENDS]] = -pairs[["difference", "high", "low", "high_holm", "low_holm"]].to_numpy()
    return pd.concat([pairs.rename(columns={"first": "variant", "second": "reference"}), mirrored], ignore_index=True)


def differences(statistics: TableStatistics, unchanged: str = "") -> pd.DataFrame:
    """Compare Overall of each row with its reference: ratio, reference, variant, and the tests of `pairwise`.

    The reference of ablations and of a sweep is the method as it is (`unchanged`); of the main table the untrained
    encoder where it is compared, else the row with the highest mean Overall; of rows on a further encoder, the
    untrained one of that kind. Two columns are added, `significant` and `equivalent`. Empty where nothing is compared.
    """
    overall = statistics.intervals.query("metric == @OVERALL").dropna(subset=["mean"])
    pairs = both_ways(statistics.pairs.query("metric == @OVERALL").dropna(subset=["difference"]))
    if pairs.empty:
        return judged(pairs)
    rows = list(dict.fromkeys(overall["variant"]))
    best = str(overall.groupby("variant", sort=False)["mean"].mean().idxmax())
    candidates = {row: (unchanged, name_on(UNTRAINED, row.partition("+")[2]), UNTRAINED, best) for row in rows}
    reference = {row: next(name for name in of if name in rows) for row, of in candidates.items()}
    chosen = pairs[pairs["reference"] == pairs["variant"].map(reference)]
    order = chosen.assign(ratio=-chosen["ratio"], variant=chosen["variant"].map(rows.index))
    return judged(chosen.loc[order.sort_values(["ratio", "variant"]).index].reset_index(drop=True))


def judged(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return pairs with two more columns, `significant` and `equivalent`: what their tests say at `LEVEL`."""
    return pairs.assign(significant=pairs["p_holm"] < LEVEL, equivalent=pairs["p_equivalent"] < LEVEL)
