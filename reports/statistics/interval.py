"""The error of a mean over seeds: an interval, a p value and the difference that could be found.

Two things are sampled: the test patients and the runs (seeds). The variance of a mean over S seeds is estimated as

    V = V_patients + V_seeds,    V_seeds = s^2 / S,    V_patients = mean covariance of two seeds under the resamples

with s^2 the variance over seeds on the test set. What patients do to all seeds alike is in V_patients; what they do to
one seed alone is already part of s^2, so it is not counted twice, as drawing patients and seeds together would
(Owen, 2007, "The pigeonhole bootstrap"). Few seeds drawn with replacement would also give s^2 too small and tails too
light; here V_seeds has its S - 1 degrees of freedom: with w = V_seeds / V and T Student's tail probability,

    p = w T(|mean| / sqrt(V); S - 1) + (1 - w) T(|mean| / sqrt(V); P - 1)

for P patients, in the manner of Cochran (1964, "Approximate significance levels of the Behrens-Fisher test"), and the
interval holds the means that p does not refute. A difference is the same on first - second, paired by patient and seed.
With one seed V_seeds cannot be estimated and the interval covers the patients alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtr

from reports.statistics.test_set import Floats

LEVEL = 0.05
POWER = 0.8
NOTHING = 1e-9
"""Below it, a standard error or a difference of scores is rounding."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with what is known of its error; NaN where that cannot be told, and `remark` says why."""

    mean: float
    low: float
    high: float
    """The 95 % interval."""
    p: float
    """Two-sided, of a mean of zero."""
    patients_se: float
    seeds_se: float
    """NaN for a single seed."""
    seeds: int
    detectable: float
    """The true mean that would be told from zero at the 5 % level in four of five such experiments."""
    remark: str = ""


def estimate(scores: Floats, patients: int) -> Estimate:
    """The mean of (S, 1+R) scores or differences: the test set, then R resamples of its patients.

    Seeds that are NaN on the test set are left out, and so are resamples in which a score is undefined.
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
    return _with_error(float(seen.mean()), _patients_part(resampled, patients), between, patients, len(seen))


def patient_variances(resampled: Floats, patients: int) -> tuple[float, float]:
    """What the test patients add to all runs alike, and to each run alone, from (S, R) scores under resamples.

    The first is the mean covariance of two runs, the two together are the variance of one. Of a single run all is
    common. P / (P - 1) makes up for drawing from P patients instead of from all there are.
    """
    seeds = len(resampled)
    scale = patients / (patients - 1)
    of_one = float(resampled.var(axis=1, ddof=1).mean()) * scale
    of_mean = float(resampled.mean(axis=0).var(ddof=1)) * scale
    common = max(0.0, (seeds * of_mean - of_one) / (seeds - 1)) if seeds > 1 else of_one
    return common, max(0.0, of_one - common)


def _patients_part(resampled: Floats, patients: int) -> float:
    """V_patients; 0 where it is within two of its own errors, lest noise pass for variance known with P - 1 degrees."""
    common, alone = patient_variances(resampled, patients)
    seeds, draws = resampled.shape
    if seeds == 1:
        return common
    pairs = seeds * (seeds - 1) / 2
    noise = (common + alone) * float(np.sqrt((1 / patients + 1 / draws) / pairs))
    return common if common > 2 * noise else 0.0


def _with_error(mean: float, shared: float, between: float, patients: int, seeds: int) -> Estimate:
    error = float(np.sqrt(shared + between))
    if error < NOTHING:
        if abs(mean) < NOTHING:  # one run under two names
            return Estimate(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, seeds, 0.0, "the same on every resample")
        return _without_error(mean, seeds, "does not vary over resamples and seeds")
    tail = Tail(between / (shared + between), seeds, patients)
    half = tail.quantile(LEVEL / 2) * error
    return Estimate(
        mean=mean,
        low=mean - half,
        high=mean + half,
        p=2 * tail.beyond(abs(mean) / error),
        patients_se=float(np.sqrt(shared)),
        seeds_se=float(np.sqrt(between)) if seeds > 1 else np.nan,
        seeds=seeds,
        detectable=half + tail.quantile(1 - POWER) * error,
        remark="one seed: the interval covers the patients alone" if seeds == 1 else "",
    )


@dataclass(frozen=True)
class Tail:
    """The upper tail of a mean in standard errors: of Student's, weighted by the seeds' share w of the variance."""

    share: float
    seeds: int
    patients: int

    def beyond(self, errors: float) -> float:
        """The probability of more than so many standard errors."""
        of_seeds = self.share * float(stdtr(self.seeds - 1, -errors)) if self.share else 0.0
        return of_seeds + (1 - self.share) * float(stdtr(self.patients - 1, -errors))

    def quantile(self, probability: float) -> float:
        """The number of standard errors that is exceeded with this probability, below 0.5."""
        furthest = 1.0
        while self.beyond(furthest) > probability:
            furthest *= 2
        return float(brentq(lambda errors: self.beyond(errors) - probability, 0.0, furthest))


def _without_error(mean: float, seeds: int, remark: str) -> Estimate:
    nan = float("nan")
    return Estimate(mean, nan, nan, nan, nan, nan, seeds, nan, remark)
