"""Bins of the expected calibration error (Guo et al., 2017, "On calibration of modern neural networks").

15 bins of equal width; a probability on an edge belongs to the lower bin, as in scikit-learn's `calibration_curve`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BINS = 15
EDGES = np.linspace(0, 1, BINS + 1)[1:-1]
"""(BINS - 1,) between the bins."""


def bins_of(probability: NDArray[np.float32]) -> NDArray[np.intp]:
    """The bin of each probability, from 0."""
    return np.searchsorted(EDGES, probability.astype(np.float64), side="left")
