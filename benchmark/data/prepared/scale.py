"""Standardisation by one number for a whole dataset: a scalar mean and deviation over recordings kept in mV.

As in the PTB-XL benchmark (Strodthoff et al. 2021), whose scaler sees the training set as one long row of samples, all
leads together.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.load import Prepared

Standardise = Literal["recording", "dataset", "none"]
"""recording: z-score per recording and lead; dataset: one mean and deviation; none: mV."""


class Scale(NamedTuple):
    """Scalar mean and deviation, mV."""

    mean: float
    deviation: float

    def applied(self, signal: NDArray[np.floating[Any]]) -> NDArray[np.float16]:
        """Signals of any shape, standardised in float32."""
        return ((signal.astype(np.float32) - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float16)


def scale_of(prepared: Prepared, recordings: NDArray[np.int64]) -> Scale:
    """Mean and deviation (ddof 0) over all kept samples and leads of some recordings; (0, 1) of nothing or of zeros."""
    count, total, squares = 0, 0.0, 0.0
    for number in recordings:
        own = prepared.windows[prepared.first_window[number] : prepared.first_window[number + 1]]
        values = own.astype(np.float64)
        count += values.size
        total += float(values.sum())
        squares += float(np.square(values).sum())
    if not count:
        return Scale(0.0, 1.0)
    mean = total / count
    deviation = float(np.sqrt(max(0.0, squares / count - mean * mean)))
    return Scale(mean, deviation or 1.0)
