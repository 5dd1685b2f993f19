"""A test set as clusters of patients, and the bootstrap of its patients.

Patients, not windows, are drawn with replacement, since the windows of one patient are dependent (Field and Welsh,
2007, "Bootstrapping clustered data"). The draws are seeded by the patients' names, so every method, seed, label ratio
and score unit has the same resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.results.keys import digest
from benchmark.results.names import HEARTBEAT, Pool
from benchmark.results.rows import Predictions
from benchmark.results.scoring.pooling import pooled_by

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ResampledTestSet:
    """A test set in one score unit: n lines (windows or recordings) of P patients, and R resamples."""

    truth: NDArray[np.int64]
    """(n, C) multi-hot."""
    patient: NDArray[np.intp]
    """(n,) index of the line's patient among the P patients sorted by name."""
    recording: NDArray[np.intp] | None
    """(windows,) line into which a window is averaged; None where windows are the lines."""
    excess: NDArray[np.float32]
    """(1+R, P) number of draws of a patient minus one. Line 0, the test set itself, is zero."""
    pool: Pool = "mean"
    """How the windows of a recording vote."""

    @property
    def patients(self) -> int:
        """P."""
        return int(self.excess.shape[1])

    @cached_property
    def positives(self) -> Floats:
        """(1+R, C) number of lines of each class."""
        return resampled_sums(self, by_patient(self, self.truth))

    @cached_property
    def negatives(self) -> Floats:
        """(1+R, C) number of lines not of each class."""
        return resampled_sums(self, by_patient(self, 1 - self.truth))

    @cached_property
    def times(self) -> NDArray[np.float32]:
        """(P, 1+R) number of draws of a patient."""
        return np.ascontiguousarray(self.excess.T) + np.float32(1)


def resampled_test_set(
    predictions: Predictions, unit: str, *, resamples: int, seed: int = 0, pool: Pool = "mean"
) -> ResampledTestSet:
    """The test set of some predictions, in the score unit 'heartbeat' or 'recording'."""
    names, patient = np.unique(predictions.patient, return_inverse=True)  # (P,), (windows,)
    excess = drawn_beyond_once(names, resamples, seed)  # (1+R, P)
    if unit == HEARTBEAT:
        return ResampledTestSet(predictions.truth, patient, None, excess)
    _, first, recording = np.unique(predictions.recording, return_index=True, return_inverse=True)
    return ResampledTestSet(predictions.truth[first], patient[first], recording, excess, pool)


def drawn_beyond_once(names: NDArray[np.str_], resamples: int, seed: int) -> NDArray[np.float32]:
    """(1+R, P) draws of each patient minus one: a zero line, then R times P draws with replacement from P patients."""
    count = len(names)
    generator = np.random.default_rng(int(digest([names.tolist(), seed]), 16))
    drawn = generator.integers(max(count, 1), size=(resamples, count))  # (R, P)
    drawn += count * np.arange(resamples)[:, None]
    times = np.bincount(drawn.ravel(), minlength=resamples * count).reshape(resamples, count)  # (R, P)
    return np.vstack([np.zeros((1, count)), times - 1]).astype(np.float32)


def pooled(test: ResampledTestSet, probability: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, C) probabilities of the lines from (windows, C): a recording's is the mean or maximum over its windows."""
    if test.recording is None:
        return probability
    return pooled_by(test.recording, probability, test.pool)


def by_patient(test: ResampledTestSet, values: NDArray[Any]) -> Floats:
    """(P, K) sums of (n, K) values over the lines of each patient."""
    sums = [np.bincount(test.patient, weights=column, minlength=test.patients) for column in values.T]
    return np.stack(sums, axis=1)


def resampled_sums(test: ResampledTestSet, sums: Floats) -> Floats:
    """(1+R, K) sums over each resample from (P, K) sums by patient; exact for counts below 2^24."""
    return np.asarray(sums.sum(axis=0) + test.excess @ sums.astype(np.float32))
