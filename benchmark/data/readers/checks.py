"""What a signal must be to be used at all, whatever kind of file it came from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import LEADS, Recording, Unusable

SLOWEST, FASTEST = 50, 10_000
"""Hz; a sampling rate outside is no ECG's: the header lies."""
LONGEST = 3600
"""Seconds; anything longer is a Holter recording."""
BEYOND = 1e9
"""mV; far beyond what a wrong unit can make of an ECG, well within float32."""


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable where the sampling rate or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: NDArray[np.float64], fs: float) -> Recording:
    """A recording of (n, 12) mV, leads in the order of `LEADS`, at fs Hz.

    A flat lead may stand; NaN, infinite or altogether flat signals raise Unusable, as do rates and durations that
    are no ECG's.
    """
    check_extent(len(signal), fs)
    for kind, good in (("NaN", ~np.isnan(signal)), ("infinite", np.abs(np.nan_to_num(signal, posinf=np.inf)) < BEYOND)):
        bad = [lead for lead, column in zip(LEADS, good.T, strict=True) if not column.all()]
        if bad:
            raise Unusable(f"{kind} samples: lead {', '.join(bad)}")
    if not signal.any():
        raise Unusable("all samples zero")
    return Recording(signal.astype(np.float32), fs)
