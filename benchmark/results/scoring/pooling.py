"""A recording's probabilities from those of its windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmark.results.names import Pool
from benchmark.results.scoring.lines import Floats, Ints


def means_by(group: NDArray[np.intp], probability: Floats) -> Floats:
    """(G, C) means of (n, C) probabilities over the lines of each of G groups, in float64; no group is empty."""
    counts = np.bincount(group)  # (G,)
    total = [np.bincount(group, weights=column) for column in probability.T]  # C of (G,)
    return (np.stack(total, axis=1) / counts[:, None]).astype(np.float32)


def pooled_by(group: NDArray[np.intp], probability: Floats, pool: Pool) -> Floats:
    """(G, C) means or maxima of (n, C) probabilities over the lines of each of G groups; no group is empty."""
    if pool == "mean" or not len(group):
        return means_by(group, probability)
    order = np.argsort(group, kind="stable")  # (n,)
    first = np.flatnonzero(np.diff(group[order], prepend=-1))  # (G,)
    return np.asarray(np.maximum.reduceat(probability[order], first, axis=0))


def per_recording(
    probability: Floats, truth: Ints, recording: Sequence[str] | NDArray[np.str_], pool: Pool = "mean"
) -> tuple[Floats, Ints, NDArray[np.str_]]:
    """Pooled probability (R, C), truth (R, C) and name (R,) of the recordings of n windows, sorted by name."""
    names, first, inverse = np.unique(np.asarray(recording), return_index=True, return_inverse=True)
    return pooled_by(inverse, probability, pool), truth[first], names
