"""Checks that a signal must pass to be used, common to all file formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.data.readers.base import LEADS, Recording, Unusable
from benchmark.results.files.read import MEBIBYTE, require_regular

LARGEST_HEADER, LARGEST_SIGNAL = MEBIBYTE, 1024 * MEBIBYTE
"""Bytes of one recording's files."""
LARGEST_STACK = 2**44
"""Bytes of a file of many recordings, which is read row by row."""
SLOWEST, FASTEST = 50, 10_000
"""Hz; a sampling rate outside means a wrong header."""
LONGEST = 3600
"""Seconds; anything longer is a Holter recording."""
BEYOND = 1e9
"""mV; larger values count as infinite: beyond any ECG in a wrong unit, well within float32."""


def check_file(path: Path, limit: int, *, what: str = "signal") -> None:
    """Raise Unusable unless the file is there, regular (opening a FIFO waits for ever) and of at most `limit` bytes."""
    try:
        require_regular(path, path.stat(), limit)
    except FileNotFoundError:
        raise Unusable(f"file missing: {what}") from None
    except (OSError, ValueError) as error:
        raise Unusable(f"unreadable file: {getattr(error, 'strerror', None) or type(error).__name__}") from error


def check_extent(samples: int, fs: float) -> None:
    """Raise Unusable if the sampling rate (Hz) or the duration is not that of a resting ECG."""
    if not SLOWEST <= fs <= FASTEST:
        raise Unusable(f"sampling rate outside {SLOWEST} to {FASTEST} Hz: {fs:g}")
    if samples == 0:
        raise Unusable("no samples")
    if samples > LONGEST * fs:
        raise Unusable(f"longer than {LONGEST} s: {samples / fs:.0f}")


def checked_recording(signal: NDArray[np.float64], fs: float) -> Recording:
    """A recording of (n, 12) mV, leads in the order of `LEADS`, at fs Hz.

    Some flat leads are allowed. Raises Unusable for NaN, infinite, all-zero or constant signals, and like
    `check_extent`.
    """
    check_extent(len(signal), fs)
    low, high = signal.min(axis=0), signal.max(axis=0)  # (12,) NaN where a lead has one
    beyond = np.maximum(np.abs(low), np.abs(high)) >= BEYOND  # (12,)
    for kind, bad in (("NaN", np.isnan(low)), ("infinite", beyond)):
        if bad.any():
            raise Unusable(f"{kind} samples: lead {', '.join(np.array(LEADS)[bad])}")
    if not (low.any() or high.any()):
        raise Unusable("all samples zero")
    if (low == high).all():
        raise Unusable("all leads constant")
    return Recording(signal.astype(np.float32), fs)
