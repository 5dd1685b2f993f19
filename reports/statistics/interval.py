"""The error of a mean over seeds: interval, p value and detectable difference.

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
    seeds: int
    detectable: float
    """The true mean that is significant at level 0.05 with power 0.8."""
    remark: str = ""


def estimate(scores: Floats, patients: int) -> Estimate:
    """The mean of (S, 1+R) scores or differences: the test set, then R resamples of its patients.

    Seeds that are NaN on the test set are left out, as are resamples with an undefined score.
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


def beyond(errors: Floats, share: Floats, seeds: int, patients: int) -> Floats:
    """`Tail.beyond` of arrays: numbers of standard errors, and the seeds' share of each variance."""
    of_seeds = share * stdtr(seeds - 1, -errors) if seeds > 1 else np.zeros_like(errors)
    return np.asarray(of_seeds + (1 - share) * stdtr(patients - 1, -errors))


@dataclass(frozen=True)
class Tail:
    """Upper tail of a mean in standard errors: two Student tails weighted by the seeds' share w of the variance."""

    share: float
    seeds: int
    patients: int

    def beyond(self, errors: float) -> float:
        """The probability of exceeding this number of standard errors."""
        return float(beyond(np.array(errors), np.array(self.share), self.seeds, self.patients))

    def quantile(self, probability: float) -> float:
        """The number of standard errors exceeded with this probability (below 0.5)."""
        furthest = 1.0
        while self.beyond(furthest) > probability:
            furthest *= 2
        return float(brentq(lambda errors: self.beyond(errors) - probability, 0.0, furthest))


def _without_error(mean: float, seeds: int, remark: str) -> Estimate:
    nan = float("nan")
    return Estimate(mean, nan, nan, nan, nan, nan, seeds, nan, remark)
