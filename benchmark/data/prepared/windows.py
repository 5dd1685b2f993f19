"""Segmentation of recordings into heartbeats (the paper's) or plain windows of equal length, which keep the rhythm.

Heartbeats are centred on an R peak and padded, which leaves of the rhythm only the width of the padding. Plain windows
are consecutive, without gap or overlap; pretraining joins them again and draws Segment(t, t + 2 dt) from any t (PMQ,
section "Neighboring"), of which the first half is the query and the second the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.beats import FS, WINDOW, heartbeats, resample, standardise
from benchmark.data.readers.base import Unusable

Kind = Literal["heartbeats", "windows"]


@dataclass(frozen=True)
class Segmentation:
    """How recordings are cut."""

    kind: Kind = "heartbeats"
    samples: int = WINDOW
    """S, samples of a window at 250 Hz."""

    def cut(self, signal: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float32]:
        """Windows (n, S, L) of a recording (n_samples, L) in mV at fs Hz, standardised per recording and lead.

        Raises Unusable if it yields none.
        """
        if self.kind == "heartbeats":
            return heartbeats(signal, fs).windows
        return plain_windows(signal, fs, self.samples)

    @property
    def word(self) -> str:
        """Noun for one window in messages."""
        return "heartbeat" if self.kind == "heartbeats" else "window"


HEARTBEATS = Segmentation()


def plain_seconds(seconds: float) -> Segmentation:
    """Plain windows of the given length in seconds."""
    return Segmentation("windows", round(seconds * FS))


def plain_windows(signal: NDArray[np.floating[Any]], fs: float, samples: int) -> NDArray[np.float32]:
    """Consecutive windows of `samples` at 250 Hz, (n, S, L), standardised per recording and lead; the rest is dropped.

    Raises Unusable if the recording (n_samples, L) has NaN or is shorter than one window.
    """
    if not np.isfinite(signal).all():
        raise Unusable("NaN samples")
    resampled = resample(signal, fs)  # (n, L)
    count = len(resampled) // samples
    if not count:
        raise Unusable(f"too short: {len(signal) / fs:.2f} s")
    standard = standardise(resampled)  # (n, L)
    return standard[: count * samples].reshape(count, samples, -1).astype(np.float32)  # (n, S, L)
