"""What is doubtful about one recording besides its leads: its amplitude, and an offset that leaves too few steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS

AMPLITUDES = (0.1, 10)
"""mV; a QRS amplitude outside means a wrong unit."""
STRETCH_SECONDS = 2
"""Every such stretch of an ECG of 30/min or more holds a QRS complex."""
LARGEST_OFFSET = 8.0
"""mV; from there on, the steps of float16 are 8 uV and more."""


def amplitude_of(signal: NDArray[np.float32], fs: float) -> float:
    """Estimate the QRS amplitude, mV, of (n, 12) at fs Hz: the median over leads of the median range of stretches.

    Leads without a range do not count; 0 where none has one.
    """
    length = min(len(signal), round(STRETCH_SECONDS * fs))
    stretches = signal[: len(signal) // length * length].reshape(-1, length, len(LEADS))
    ranges = np.median(np.ptp(stretches, axis=1), axis=0)  # (12,)
    return float(np.median(ranges[ranges > 0])) if ranges.any() else 0.0


def signal_doubts(signal: NDArray[np.float32], fs: float, *, raw: bool) -> Iterator[str]:
    """Say what is doubtful about (n, 12) mV at fs Hz; `raw`: it is kept in float16 without being standardised."""
    lowest, highest = AMPLITUDES
    if not lowest <= amplitude_of(signal, fs) <= highest:
        yield f"a QRS amplitude outside {lowest} to {highest} mV, so that its unit or gain is probably wrong"
    if raw and np.abs(np.median(signal, axis=0)).max() >= LARGEST_OFFSET:
        yield f"an electrode offset of {LARGEST_OFFSET:g} mV or more, which float16 keeps in steps of 8 uV and more"
