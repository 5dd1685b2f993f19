"""Variances of differences over seeds: shrunk to a common one where rows are alike, own where a row stands apart.

Few seeds know their variance badly, so that of a pair is moderated by those of all pairs of its column (Smyth, 2004,
"Linear models and empirical Bayes methods for assessing differential expression in microarray experiments", section
6.2). What is an outlier of that prior keeps its own variance, as in its robust form (Phipson et al., 2016). The unit
there is a gene, here the row, not the pair: one noisy row is in n - 1 of the pairs. Each row is held against the mean
of the others by a one-sided F test, exact for normal scores: where p < `LEAVES` / rows the noisiest has no part in the
prior, and the rest is tested anew; where p < `KEEPS` a row keeps its variance. Two levels, since a prior without every
row that looks noisy is too small. Untrained rows and baselines stand apart untested.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import f as fisher

from benchmark.results.arrays import Bools, Doubles, Positions

EPSILON = 1e-9
"""Standard errors and differences below it are rounding."""
LEAVES, KEEPS = 0.1, 0.2
LEAST = 3
"""Rows that a prior needs."""


class Estimate(NamedTuple):
    """A variance of a mean over seeds."""

    variance: float
    freedom: float


class Standing(NamedTuple):
    """Standing of n rows: which are in the prior, and which are apart."""

    in_prior: Bools  # (n,)
    is_apart: Bools  # (n,) keeps its own variance; so does every row outside the prior


def moderated_variances(
    scores: Mapping[str, Doubles], pairs: Sequence[tuple[str, str]], apart: Collection[str]
) -> list[Estimate]:
    """Estimate the variance over seeds of the mean difference of each pair of rows; scores: row -> (S,).

    Both rows alike: the pair's own, moderated. One apart: that of its distance from the mean of the other rows plus,
    moderated, that of the other row's around this mean (Satterthwaite, 1946). Both apart, or seeds missing: its own.
    """
    names = list(scores)
    stacked = np.stack(list(scores.values()))  # (n, S)
    is_complete = np.asarray(np.isfinite(stacked).all(axis=1))  # (n,)
    standing = standing_of(stacked, np.isin(names, list(apart)) | ~is_complete)
    pool, seeds = standing.in_prior, stacked.shape[1]
    by_pair = {pair: estimate_over_seeds(scores[pair[0]] - scores[pair[1]]) for pair in pairs}
    in_pool = set(np.array(names)[pool])
    alike = [by_pair[pair].variance for pair in pairs if in_pool.issuperset(pair)]
    rows = int(pool.sum())
    prior = prior_of(alike, seeds, rows)
    residuals = [estimate_over_seeds(row - stacked[pool].mean(axis=0)) for row in stacked] if rows else []
    residual_prior = prior_of([residuals[row].variance for row in np.flatnonzero(pool)], seeds, rows)
    estimates = []
    for pair in pairs:
        odd, even = (names.index(name) for name in pair)
        if standing.is_apart[even]:
            odd, even = even, odd
        others = without(pool, odd)
        if standing.is_apart[even] or len(others) < 2 or not is_complete[odd]:
            estimates.append(by_pair[pair])
        elif standing.is_apart[odd]:
            distance = estimate_over_seeds(stacked[odd] - stacked[others].mean(axis=0))
            estimates.append(added(distance, moderated(residuals[even], residual_prior)))
        else:
            estimates.append(moderated(by_pair[pair], prior))
    return estimates


def standing_of(scores: Doubles, apart: Bools) -> Standing:
    """Decide on the rows of (n, S) scores; apart: (n,) those that keep their own variance whatever it is."""
    in_prior = ~apart
    is_apart = apart.copy()
    if scores.shape[1] < 2:
        return Standing(in_prior, is_apart)
    while in_prior.sum() > LEAST:
        p = against_others(scores, in_prior)
        noisiest = int(np.argmin(p))
        if p[noisiest] >= LEAVES / len(scores):
            break
        in_prior[noisiest] = False
    if in_prior.sum() >= LEAST:
        is_apart |= against_others(scores, in_prior) < KEEPS
    return Standing(in_prior, is_apart | ~in_prior)


def against_others(scores: Doubles, pool: Bools) -> Doubles:
    """Return (n,) p of each row of the pool being no noisier than its others; 1 for a row outside."""
    p = np.ones(len(scores))
    for row in np.flatnonzero(pool):
        p[row] = ratio_p(scores[row], scores[without(pool, row)])
    return p


def without(pool: Bools, row: int) -> Positions:
    """Return the numbers of the rows of a pool but for one."""
    return np.setdiff1d(np.flatnonzero(pool), row)


def ratio_p(row: Doubles, others: Doubles) -> float:
    """Return p of a row (S,) being no noisier than m others (m, S): F with S - 1 and (m - 1)(S - 1) degrees of freedom.

    What a seed does to all rows alike cancels, and the two sums of squares are independent.
    """
    count, seeds = others.shape
    centred = others - others.mean(axis=0)
    distance = row - others.mean(axis=0)  # (S,)
    scatter = distance.var(ddof=1) / (1 + 1 / count)
    rest = centred.var(axis=1, ddof=1).sum() / (count - 1)
    if rest < EPSILON**2:
        return 0.0 if scatter > EPSILON**2 else 1.0
    freedom = (count - 1) * (seeds - 1)
    return float(fisher.sf(scatter / rest, seeds - 1, freedom))


def estimate_over_seeds(scores: Doubles) -> Estimate:
    """Estimate the variance of the mean of the (S,) scores that there are; 0 for a single one."""
    finite = scores[np.isfinite(scores)]
    seeds = len(finite)
    if seeds < 2:
        return Estimate(0.0, 0.0)
    return Estimate(float(finite.var(ddof=1)) / seeds, seeds - 1.0)


def prior_of(variances: Sequence[float], seeds: int, rows: int) -> Estimate:
    """Estimate the prior of variances above 0, with at most the degrees of freedom of the rows outside a pair."""
    values = np.array(variances)
    prior = common_variance(values[values > EPSILON**2], seeds - 1)
    most = max(0, rows - 2) * (seeds - 1)
    return prior._replace(freedom=min(prior.freedom, most))


def common_variance(seeds_variances: Doubles, freedom: int) -> Estimate:
    """Compute the variance s0^2 and degrees of freedom d0 of the prior of variances with `freedom` each (Smyth, 2004).

    Both follow from the moments of the logarithms; fewer than three variances have no prior.
    """
    if len(seeds_variances) < 3 or freedom < 1:
        return Estimate(0.0, 0.0)
    logs = np.log(seeds_variances)
    centre = float(logs.mean() - digamma(freedom / 2) + np.log(freedom / 2))
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2))
    if excess <= 1e-6:
        return Estimate(float(np.exp(centre)), 1e6)
    half = float(brentq(lambda x: polygamma(1, x) - excess, 1e-3, 1 + 1 / excess))
    variance = np.exp(centre + digamma(half) - np.log(half))
    return Estimate(float(variance), 2 * half)


def moderated(estimate: Estimate, prior: Estimate) -> Estimate:
    """Draw a variance towards its prior; 0, of a row that does not scatter, stays."""
    if estimate.variance <= EPSILON**2:
        return estimate
    freedom = estimate.freedom + prior.freedom
    squares = estimate.freedom * estimate.variance + prior.freedom * prior.variance
    return Estimate(squares / freedom, freedom)


def added(first: Estimate, second: Estimate) -> Estimate:
    """Add two independent variances, with the degrees of freedom of their sum (Satterthwaite, 1946)."""
    total = first.variance + second.variance
    if total <= EPSILON**2:
        return Estimate(total, first.freedom)
    parts = first.variance**2 / first.freedom if first.variance else 0.0
    parts += second.variance**2 / second.freedom if second.variance else 0.0
    return Estimate(total, total**2 / parts)
