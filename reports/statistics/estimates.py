"""The error of a mean over seeds: interval, p value, detectable difference.

Two things are sampled: the test patients and the runs (seeds). The variance of a mean over S seeds is estimated as

    V = V_patients + V_seeds,    V_seeds = s^2 / S,    V_patients = mean covariance of two seeds under the resamples

with s^2 the variance over seeds on the test set. V_patients holds the patients' effect common to all seeds; their
effect on single seeds is already part of s^2 and would count twice if patients and seeds were resampled together
(Owen, 2007, "The pigeonhole bootstrap"). Resampling few seeds would also underestimate s^2 and the tails; here V_seeds
has S - 1 degrees of freedom: with w = V_seeds / V and T Student's tail probability,

    p = w T(|mean| / sqrt(V); S - 1) + (1 - w) T(|mean| / sqrt(V); P - 1)

for P patients, after Cochran (1964, "Approximate significance levels of the Behrens-Fisher test"); the interval inverts
this test. A difference is treated alike, on first - second paired by patient and seed. With one seed V_seeds cannot be
estimated and the interval covers the patients alone.

Few seeds know their own variance badly, and the pairs of a column have much the same one. So the V_seeds of a pair is
moderated by those of all pairs (Smyth, 2004, "Linear models and empirical Bayes methods for assessing differential
expression in microarray experiments", sections 4 and 6.2): the true variances are taken as drawn from one scaled
inverse chi-squared distribution, s0^2 d0 / chi-squared(d0), whose s0 and d0 come from all pairs, and

    V_seeds = ((S - 1) s^2 / S + d0 s0^2) / (S - 1 + d0)    with S - 1 + d0 degrees of freedom

The pairs of R rows share these rows and look more alike than they are, so d0 is at most (R - 2)(S - 1), the degrees of
freedom of the rows outside the pair. With two rows nothing is moderated.

Two rows are equivalent within a margin where two one-sided tests at the level find the true difference below the one
end and above the other (Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach for
assessing the equivalence of average bioavailability"): where the interval at 90 % lies inside. Not significant is not
equivalent; and a significant difference may be too small to matter.

Sentences on the limits of a table's statistics, for its footers and details.

They depend on the number of seeds and what these vary, the number of test patients and the detectable difference.

How many seeds or test patients it would take to find a difference significant, from the parts of its error.

With V_patients and V_seeds as below, S' seeds have V = V_patients + V_seeds S / S', and k times
the patients V = V_patients / k + V_seeds. A difference is found where it is at least the detectable one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import digamma, polygamma, stdtr

from benchmark.results.metrics import TITLES
from reports.results import Results
from reports.statistics.bootstrap import Floats, ScoreColumn

LEVEL = 0.05
POWER = 0.8
MARGIN = 0.02
"""Two points: pretrainings of one method differ by as much, so that a smaller difference chooses no method."""
SCALE = 1.0
"""Of a score. An interval at least as wide says nothing: it is not estimable."""
NOTHING = 1e-9
"""Standard errors and differences below it are rounding."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its error, in the unit of the scores; NaN where unknown, with the reason in `remark`."""

    mean: float
    low: float
    high: float
    """The 95 % interval."""
    p: float
    """Two-sided, against a mean of zero."""
    patients_se: float
    seeds_se: float
    """NaN for a single seed."""
    freedom: float
    """Degrees of freedom of `seeds_se`: S - 1, and more where it is moderated; 0 for a single seed."""
    seeds: int
    detectable: float
    """The true mean that is significant at level 0.05 with power 0.8."""
    remark: str = ""
    p_equivalent: float = float("nan")
    """Of the two one-sided tests that the true mean lies within `MARGIN` of zero."""


class CommonVariance(NamedTuple):
    """What the variances of means over seeds of a column's pairs have in common."""

    variance: float
    """s0^2, in the unit of the squared errors."""
    freedom: float
    """d0: 0 where nothing is known, up to `MANY` where all pairs have one variance."""


NOTHING_COMMON = CommonVariance(0.0, 0.0)


def moderated(between: float, seeds: int, common: CommonVariance) -> tuple[float, float]:
    """V_seeds of a mean over seeds and its degrees of freedom; one that is zero, of the same runs, stays so."""
    freedom = seeds - 1
    if np.sqrt(between) < NOTHING or seeds < 2:
        return between, freedom
    total = freedom + common.freedom
    return (freedom * between + common.freedom * common.variance) / total, total


def estimate(scores: Floats, patients: int, common: CommonVariance = NOTHING_COMMON) -> Estimate:
    """The mean of (S, 1+R) scores or differences: the test set, then R resamples of its patients.

    common: that of the pairs of which it is one (`bounded`), by which its variance over seeds is moderated. Seeds that
    are NaN on the test set are left out, as are resamples with an undefined score.
    """
    scores = scores[np.isfinite(scores[:, 0])]  # (S, 1+R)
    if not len(scores):
        return _without_error(np.nan, 0, "no seed has a score")
    seen, resampled = scores[:, 0], scores[:, 1:]  # (S,), (S, R)
    resampled = resampled[:, np.isfinite(resampled).all(axis=0)]
    if patients < 2:
        return _without_error(float(seen.mean()), len(seen), "one test patient")
    if resampled.shape[1] <= (scores.shape[1] - 1) / 2:
        return _without_error(float(seen.mean()), len(seen), "undefined in half of the resamples or more")
    between = float(seen.var(ddof=1)) / len(seen) if len(seen) > 1 else 0.0
    between, freedom = moderated(between, len(seen), common)
    return _with_error(float(seen.mean()), _patients_part(resampled, patients), between, freedom, patients, len(seen))


def patient_variances(resampled: Floats, patients: int) -> tuple[float, float]:
    """Variance from test patients common to all runs, and specific to each run, from (S, R) resampled scores.

    The first is the mean covariance of two runs, the sum the variance of one; a single run's is all common. The factor
    P / (P - 1) corrects the bootstrap's bias.
    """
    seeds = len(resampled)
    scale = patients / (patients - 1)
    of_one = float(resampled.var(axis=1, ddof=1).mean()) * scale
    of_mean = float(resampled.mean(axis=0).var(ddof=1)) * scale
    common = max(0.0, (seeds * of_mean - of_one) / (seeds - 1)) if seeds > 1 else of_one
    return common, max(0.0, of_one - common)


def _patients_part(resampled: Floats, patients: int) -> float:
    """V_patients; 0 within two of its own standard errors, since noise must not get P - 1 degrees of freedom."""
    common, alone = patient_variances(resampled, patients)
    seeds, draws = resampled.shape
    if seeds == 1:
        return common
    pairs = seeds * (seeds - 1) / 2
    noise = (common + alone) * float(np.sqrt((1 / patients + 1 / draws) / pairs))
    return common if common > 2 * noise else 0.0


def _with_error(mean: float, shared: float, between: float, freedom: float, patients: int, seeds: int) -> Estimate:
    error = float(np.sqrt(shared + between))
    if error < NOTHING:
        if abs(mean) < NOTHING:  # one run under two names
            return Estimate(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, freedom, seeds, 0.0, "the same on every resample", 0.0)
        return _without_error(mean, seeds, "does not vary over resamples and seeds")
    tail = Tail(between / (shared + between), freedom, patients)
    half = tail.quantile(LEVEL / 2) * error
    detected, remark = half + tail.quantile(1 - POWER) * error, ""
    equivalent = tail.beyond((MARGIN - abs(mean)) / error)
    if seeds == 1:
        remark = "one seed: the interval covers the patients alone"
    if 2 * half >= SCALE:
        half = detected = equivalent = np.nan
        remark = (
            "not estimable: the interval would be wider than the scale of the score: use more seeds or test patients"
        )
    return Estimate(
        mean=mean,
        low=mean - half,
        high=mean + half,
        p=2 * tail.beyond(abs(mean) / error),
        patients_se=float(np.sqrt(shared)),
        seeds_se=float(np.sqrt(between)) if seeds > 1 else np.nan,
        freedom=freedom,
        seeds=seeds,
        detectable=detected,
        remark=remark,
        p_equivalent=equivalent,
    )


@dataclass(frozen=True)
class Tail:
    """Upper tail of a mean in standard errors: two Student tails weighted by the seeds' share w of the variance."""

    share: float
    freedom: float
    """Degrees of freedom of the seeds' part."""
    patients: int

    def beyond(self, errors: float) -> float:
        """The probability of exceeding this number of standard errors."""
        of_seeds = self.share * stdtr(self.freedom, -errors) if self.freedom > 0 else 0.0
        return float(of_seeds + (1 - self.share) * stdtr(self.patients - 1, -errors))

    def quantile(self, probability: float) -> float:
        """The number of standard errors exceeded with this probability (below 0.5)."""
        from scipy.optimize import brentq  # here, because it loads slowly and a report told again needs none

        furthest = 1.0
        while self.beyond(furthest) > probability:
            furthest *= 2
        return float(brentq(lambda errors: self.beyond(errors) - probability, 0.0, furthest))


def _without_error(mean: float, seeds: int, remark: str) -> Estimate:
    nan = float("nan")
    return Estimate(mean, nan, nan, nan, nan, nan, nan, seeds, nan, remark)


MANY = 1_000_000
"""Degrees of freedom at which Student's tail is normal."""
ENCODERS = "With one pretraining per method, a difference is between these encoders and need not hold for the methods."


def reach(run: Results, columns: Sequence[ScoreColumn], pairs: pd.DataFrame, *, frozen: bool) -> list[str]:
    """Footers of one table; `pairs` is `pairwise(columns)`, frozen: nothing is fine-tuned. Empty without columns."""
    if not columns:
        return []
    return [_patients(run, columns), *_family(columns), _seeds(run, columns, frozen), *_detectable(pairs)]


def method(run: Results, columns: Sequence[ScoreColumn], pairs: pd.DataFrame) -> list[str]:
    """Details of one table: how its statistics were computed, and what they leave out; `pairs` as of `reach`.

    Empty without columns.
    """
    if not columns:
        return []
    count = len(columns[0].seeds)
    shared = count > 1 and run.plan.config["protocol"] != "strict"
    resamples = columns[0].scores.shape[-1] - 1
    return [
        f"Intervals: {100 * (1 - LEVEL):g} %, from {resamples} resamples of the test patients and the variance over "
        "seeds; differences are paired by test patient and by seed.",
        "Holm's correction is within each column (Overall is one); conclusions from several columns are not corrected.",
        *([ENCODERS] if shared else []),
        *_few_seeds(count, pairs),
    ]


def _patients(run: Results, columns: Sequence[ScoreColumn]) -> str:
    tested = {column.dataset: column.patients for column in columns if column.dataset}
    named = ", ".join(f"{run.plan.datasets[name]['title']} {number}" for name, number in tested.items())
    return f"Test patients: {named}."


def _family(columns: Sequence[ScoreColumn]) -> Iterator[str]:
    """What ≈ means, where two rows or more compete."""
    rows = max(len(column.variants) for column in columns)
    count = rows * (rows - 1) // 2
    if count:
        pairs = f"{count} pair{'s' if count != 1 else ''}"
        yield (
            f"≈: not significantly different from the best (level {100 * LEVEL:g} %, Holm's correction over {pairs} of "
            "rows per column)."
        )


def _seeds(run: Results, columns: Sequence[ScoreColumn], frozen: bool) -> str:
    count = len(columns[0].seeds)
    few = (
        " Two seeds are too few to estimate a variance: use three or more; an interval wider than 100 points is given "
        "as not estimable."
        if count == 2
        else ""
    )
    if count == 1:
        return "One seed: the intervals cover the test patients alone; another seed may reverse any difference."
    if run.plan.config["protocol"] == "strict":
        varied = "pretraining and labelled subset" if frozen else "pretraining, labelled subset and fine-tuning"
        return f"{count} seeds, each with its own {varied}: the intervals cover the variation of all.{few}"
    several = [len({key for key in keys if key}) > 1 for keys in columns[0].encoders]
    drawn = [run.plan.variants[name] for name, many in zip(columns[0].variants, several, strict=True) if many]
    but = f" ({', '.join(drawn)}: one per seed)" if drawn else ""
    return (
        f"{count} seeds of fine-tuning on one pretraining per method{but} and one labelled subset: the intervals do "
        f"not cover the variation between pretrainings or subsets.{few}"
    )


def _few_seeds(count: int, pairs: pd.DataFrame) -> Iterator[str]:
    """How much few seeds widen an interval."""
    known = pairs["freedom"].dropna()
    if count < 2 or known.empty:
        return
    freedom = float(known.median())
    few, many = (Tail(share, freedom, MANY).quantile(LEVEL / 2) for share in (1.0, 0.0))
    moderated = ""
    if freedom > count - 1:
        moderated = f", and the variances of the other pairs add {freedom - count + 1:.0f} (median; Smyth 2004)"
    yield (
        f"{count} seeds leave {count - 1} degree{'s' if count > 2 else ''} of freedom{moderated}: where the variance "
        f"over seeds dominates, a difference is significant from {few:z.1f} standard errors, instead of {many:z.1f}."
    )


def _detectable(pairs: pd.DataFrame) -> Iterator[str]:
    """Median over the pairs of the difference detectable with power 80 %, per metric in points."""
    known = pairs[pairs["detectable"].gt(0)]
    if known.empty:
        return
    medians = known.groupby("metric", sort=False)["detectable"].median()
    named = ", ".join(f"{TITLES[str(metric)]} {100 * value:z.1f}" for metric, value in medians.items())
    yield f"Detectable difference in points (power 80 %, without Holm's correction, median of the pairs): {named}."


def holm(p: Floats) -> Floats:
    """Holm's adjusted (n,) p values of one family; NaN stays NaN and does not count."""
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


MOST_SEEDS, MOST_TIMES = 100, 100
"""Beyond these, no number is given."""


def detectable(patients_se: float, seeds_se: float, freedom: float) -> float:
    """The true difference that is significant at level 0.05 with power 0.8, in the unit of the errors."""
    variance = patients_se**2 + seeds_se**2
    if not variance:
        return 0.0
    tail = Tail(seeds_se**2 / variance, freedom, MANY)
    return (tail.quantile(LEVEL / 2) + tail.quantile(1 - POWER)) * float(np.sqrt(variance))


def seeds_needed(difference: float, patients_se: float, seeds_se: float, seeds: int, freedom: float) -> int | None:
    """The least number of seeds, not below the present one; None: more than `MOST_SEEDS`, or not known (one seed).

    freedom: that of `seeds_se`; each further seed adds one degree.
    """

    def found(count: int) -> bool:
        error = seeds_se * float(np.sqrt(seeds / count))
        return detectable(patients_se, error, freedom + count - seeds) <= abs(difference)

    return None if np.isnan(seeds_se) else _first(found, range(seeds, MOST_SEEDS + 1))


def patients_needed(difference: float, patients_se: float, seeds_se: float, freedom: float) -> int | None:
    """The least multiple of the test patients; None: more than `MOST_TIMES`. The error of a single seed is left out."""

    def found(times: int) -> bool:
        return detectable(patients_se / float(np.sqrt(times)), float(np.nan_to_num(seeds_se)), freedom) <= abs(
            difference
        )

    return _first(found, range(1, MOST_TIMES + 1))


def _first(found: Callable[[int], bool], numbers: Iterable[int]) -> int | None:
    return next((number for number in numbers if found(number)), None)


FEWEST_VARIANCES = 3


def common_variance(seeds_se: Floats, seeds: int) -> CommonVariance:
    """Of the standard errors (n,) of means over as many seeds, by the moments of log variances (Smyth, section 6.2).

    Errors of zero and NaN are left out; of fewer than three, or of one seed, nothing is in common.
    """
    logs = np.log(seeds_se[seeds_se > NOTHING] ** 2)  # (n',) comparison with NaN is false
    if len(logs) < FEWEST_VARIANCES or seeds < 2:
        return NOTHING_COMMON
    half = (seeds - 1) / 2
    centre = float(logs.mean() - digamma(half) + np.log(half))
    excess = float(logs.var(ddof=1) - polygamma(1, half))
    if excess <= 1 / MANY:
        return CommonVariance(float(np.exp(centre)), MANY)
    from scipy.optimize import brentq  # here, because it loads slowly

    own = float(brentq(lambda x: polygamma(1, x) - excess, 1e-3, 1 + 1 / excess))  # d0 / 2
    return CommonVariance(float(np.exp(centre + digamma(own) - np.log(own))), 2 * own)


def bounded(common: CommonVariance, seeds: int, rows: int) -> CommonVariance:
    """What moderates the pairs of so many rows: d0 is at most the degrees of freedom of the rows outside a pair."""
    return common._replace(freedom=min(common.freedom, max(0, rows - 2) * (seeds - 1)))
