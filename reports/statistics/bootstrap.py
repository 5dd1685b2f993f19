"""The metrics of one cell on its test set and on every resample of the test patients.

They are those of benchmark.results.metrics, which also computes the stored scores; each sum over lines becomes 1+R
sums, from sums by patient. A class absent from a resample is left out of its mean, not counted as zero.

AUROC counts the pairs with the positive above the negative, ties half. With weights w = 1 + e by patient the count is
p(w) = p(1) + g'e + e'Ae. The first two terms are exact (g sums the placements of DeLong et al., 1988); A, one entry
per pair of patients, is computed on B bins of the scores, where a pair within one bin counts half. Only pairs within a
bin are approximate, about 1/B of all, and their weights e_p e_q have mean zero.

Average precision and sensitivity are exact on the test set and where a class has few distinct probabilities; else
their changes from resample to resample are those on merged levels (benchmark.results.scoring.ranking).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.results.metrics import COLUMNS, METRICS
from benchmark.results.scoring.calibration import BINS
from benchmark.results.scoring.lines import Lines, share
from benchmark.results.scoring.ranking import Levels, Ranking, counted, merged
from reports.statistics.test_set import Floats, ResampledTestSet, by_patient, pooled, resampled_sums

FEWEST_BINS = 16
CELLS = 40_000
"""Patients x bins: with fewer patients the bins are finer."""
WIDE = 1.5
"""Five standard deviations of the share of negatives above a threshold, times the square root of the patients."""


def resampled_scores(
    test: ResampledTestSet, probability: NDArray[np.float32], *, multi: bool, metrics: Sequence[str] = COLUMNS
) -> dict[str, Floats]:
    """Metric -> (1+R,) values in [0, 1], first the test set, then its R resamples; NaN where undefined.

    probability: (windows, C) as in the stored predictions.
    """
    lines = resampled_lines(test, probability, multi=multi)
    return {name: METRICS[name].of(lines) for name in metrics}


def resampled_lines(test: ResampledTestSet, probability: NDArray[np.float32], *, multi: bool) -> ResampledLines:
    """The lines of a test set with a method's (windows, C) probabilities."""
    return ResampledLines(test.truth, pooled(test, probability), multi, test)


@dataclass(frozen=True)
class ResampledLines(Lines):
    """Lines weighted by how often their patient is drawn, in the test set and its R resamples."""

    test: ResampledTestSet

    def sums(self, values: NDArray[Any]) -> Floats:
        """(1+R, K) sums of (n, K) values."""
        return resampled_sums(self.test, by_patient(self.test, values))

    @property
    def positives(self) -> NDArray[Any]:
        """(1+R, C) number of lines of each class; the same for every method."""
        return self.test.positives

    @property
    def negatives(self) -> NDArray[Any]:
        """(1+R, C) number of lines not of each class."""
        return self.test.negatives

    def areas(self) -> Floats:
        """(1+R, C) share of the (positive, negative) pairs in which the positive has the higher score, ties half."""
        won = np.zeros_like(self.positives)  # (1+R, C)
        both = np.flatnonzero(self.truth.any(axis=0) & ~self.truth.all(axis=0))
        if len(both):
            won[:, both] = _pairs_won(self.test, self.probability[:, both], self.truth[:, both] == 1)
        return share(won, self.positives * self.negatives)

    def areas_to_first_order(self) -> Floats:
        """(1+R, C) `areas` without the term e'Ae, which is small beside the sampling error: for many small groups."""
        won = np.zeros_like(self.positives)  # (1+R, C)
        for c in range(self.truth.shape[1]):
            positive, scores = self.truth[:, c] == 1, self.probability[:, c]
            beaten = np.empty(len(scores))  # (n,) placements
            for sign in (True, False):
                others = np.sort(scores[positive != sign])
                below = np.searchsorted(others, scores[positive == sign], "left")
                below = (below + np.searchsorted(others, scores[positive == sign], "right")) / 2
                beaten[positive == sign] = below if sign else len(others) - below
            gradient = np.bincount(self.test.patient, weights=beaten)  # (P,)
            won[:, c] = beaten[positive].sum() + self.test.excess @ gradient.astype(np.float32)
        return share(won, self.positives * self.negatives)

    def scores_of(self, levels: Levels, scores: Sequence[Callable[[Ranking], Floats]]) -> list[Floats]:
        """(1+R,) values of each score of a class; changes from the test set to a resample are of merged levels."""
        exact = counted(levels)
        few = merged(levels, WIDE / np.sqrt(self.test.patients))
        positives, negatives = (self._times(few, sign) for sign in (few.positive, ~few.positive))
        tied = negatives if few.tied.sum() == (~few.positive).sum() else self._times(few, few.tied)
        drawn = Ranking(positives, negatives, tied, self._all(~few.positive))
        found = []
        for score_of in scores:
            values = score_of(drawn)  # (1+R,)
            found.append(np.clip(values - values[0] + score_of(exact), 0, 1))
        return found

    def _times(self, levels: Levels, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(K, 1+R) weight of the chosen lines on each level."""
        count, patients = levels.count, self.test.patients
        place = levels.level[chosen] * patients + self.test.patient[chosen]
        by_patient_of = np.bincount(place, minlength=(count + 1) * patients).reshape(count + 1, patients)
        return np.asarray(by_patient_of[:count].astype(np.float32) @ self.test.times)

    def _all(self, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(1+R,) weight of the chosen lines."""
        by_patient_of = np.bincount(self.test.patient[chosen], minlength=self.test.patients)
        return np.asarray(by_patient_of.astype(np.float32) @ self.test.times)

    def binned(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Floats:
        """(1+R, K, BINS) sums of (n, K) values over the lines of each bin."""
        own = [self._by_patient_and_bin(b, v) for b, v in zip(bins.T, values.T, strict=True)]  # K of (P, BINS)
        return resampled_sums(self.test, np.concatenate(own, axis=1)).reshape(-1, len(own), BINS)

    def _by_patient_and_bin(self, bins: NDArray[np.intp], values: NDArray[Any]) -> Floats:
        place = self.test.patient * BINS + bins  # (n,)
        sums: Floats = np.bincount(place, weights=values, minlength=self.test.patients * BINS).astype(np.float64)
        return sums.reshape(-1, BINS)  # (P, BINS)


class Placed(NamedTuple):
    """The terms of p(w) for one class."""

    won: np.float64
    """p(1), in float64 like the sum of all terms."""
    gradient: NDArray[np.float32]
    """(P,) g"""
    above: NDArray[np.float32]
    """(P, B) positives of each patient in each bin."""
    beaten: Floats
    """(P, B) negatives that a positive in the bin is above; A is above @ beaten.T."""


def _pairs_won(test: ResampledTestSet, scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Floats:
    """(1+R, C) weighted number of (positive, negative) pairs with the positive higher, ties half, of (n, C) lines."""
    placed = [_placed(test, *column) for column in zip(scores.T, positive.T, strict=True)]
    exact = [own.won + test.excess @ own.gradient for own in placed]  # C of (1+R,)
    return np.stack(exact, axis=1) + _curvature(test, placed)


def _placed(test: ResampledTestSet, scores: NDArray[np.float32], positive: NDArray[np.bool_]) -> Placed:
    order = np.argsort(scores, kind="stable")
    sign, patient, ranked = positive[order], test.patient[order], scores[order]  # (n,) each
    level = np.cumsum(np.r_[False, ranked[1:] != ranked[:-1]])  # (n,) equal scores share a level
    up = np.bincount(level, weights=sign)  # (levels,) positives
    down = np.bincount(level, weights=~sign)  # (levels,) negatives
    up_below, down_below = np.cumsum(up) - up / 2, np.cumsum(down) - down / 2  # (levels,) its own count half
    beaten = np.where(sign, down_below[level], up.sum() - up_below[level])  # (n,) placements
    gradient = np.bincount(patient, weights=beaten)  # (P,)

    middle = up_below / up.sum() + down_below / down.sum()  # (levels,) in (0, 2): rare positives get their own bins
    count = max(FEWEST_BINS, CELLS // test.patients)  # B
    bins = (middle * (count / 2)).astype(np.intp)[level]  # (n,)
    place = (patient + sign * test.patients) * count + bins
    histograms = np.bincount(place, minlength=2 * test.patients * count).astype(np.float32)
    below, above = histograms.reshape(2, test.patients, count)  # (P, B) negatives, (P, B) positives
    won_over = np.cumsum(below, axis=1, dtype=np.float32) - below / np.float32(2)  # (P, B)
    return Placed(np.float64(beaten[sign].sum()), gradient.astype(np.float32), above, won_over)


def _curvature(test: ResampledTestSet, placed: Sequence[Placed]) -> NDArray[np.float32]:
    """(1+R, C) e'Ae; all classes share one product with the resamples, since reading these is what takes time."""
    excess, bins = test.excess, placed[0].above.shape[1]
    if test.patients <= 2 * bins:  # A has fewer entries than its two factors
        forms = np.concatenate([own.above @ own.beaten.T for own in placed], axis=1)  # (P, C * P)
        rows = (excess @ forms).reshape(len(excess), len(placed), -1)  # (1+R, C, P)
        return np.asarray(np.einsum("rcp,rp->rc", rows, excess))
    factors = np.concatenate([factor for own in placed for factor in (own.above, own.beaten)], axis=1)  # (P, 2 * C * B)
    drawn = np.hsplit(excess @ factors, 2 * len(placed))  # 2 * C of (1+R, B)
    pairs = zip(drawn[::2], drawn[1::2], strict=True)
    return np.stack([np.einsum("rb,rb->r", above.copy(), beaten.copy()) for above, beaten in pairs], axis=1)
