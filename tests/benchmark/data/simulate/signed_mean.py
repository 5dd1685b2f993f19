"""A number of a signal by which tests tell it from another one, on whatever processor it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def signed_mean(signal: NDArray[np.floating[Any]]) -> float:
    """Compute the mean of the samples (n, 12) in mV, each times a random sign that is its own in every signal.

    It moves with every sample. Processors round samples differently by 1e-7 mV, and this number by some 1e-9.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], signal.shape)  # (n, 12)
    return float((signs * signal).mean())
