"""Segmentation of recordings: heartbeats (the paper's), plain windows, or crops of whole recordings.

Heartbeats are centred on an R peak and padded, which leaves of the rhythm only the width of the padding. Plain windows
are consecutive, without gap or overlap; pretraining joins them again and draws Segment(t, t + 2 dt) from any t (PMQ,
section "Neighboring"), of which the first half is the query and the second the key. `recordings` keeps recordings
whole, as the PTB-XL benchmark does: what is judged are crops of them at a fixed stride, what is learned from are crops
that begin anywhere. A crop may be as long as the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.beats import FS, WINDOW, heartbeats, resample, standardise
from benchmark.data.readers.base import Unusable

Kind = Literal["heartbeats", "windows", "recordings"]
Rate = Literal[100, 250, 500]
"""Hz."""
TYPICAL_SECONDS = 10
"""Length of a recording in the datasets of the suite, and of the stretch of a recording that is pretrained on."""
IN_MILLIVOLTS = "in mV"
LARGEST = float(np.finfo(np.float16).max)
"""mV; what the cache can hold of a recording that is not standardised."""


@dataclass(frozen=True)
class Segmentation:
    """How recordings are cut. A field added here needs a default."""

    kind: Kind = "heartbeats"
    samples: int = WINDOW
    """S, samples of a window at `rate`."""
    rate: int = FS
    """Hz."""
    stride: int = 0
    """Samples from the beginning of a crop to that of the next; 0 for the other kinds."""
    raw: bool = False
    """In mV, instead of standardised per recording and lead."""
    pad: bool = False
    """A recording shorter than a window is lengthened by zeros, instead of skipped."""

    def content(self) -> dict[str, Any]:
        """What determines the windows, for keys; without later fields at their default: earlier keys stay valid."""
        later = {field.name: field.default for field in fields(self)[2:]}
        return {name: value for name, value in asdict(self).items() if name not in later or value != later[name]}

    def cut(self, signal: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float32]:
        """What is kept of a recording (n_samples, L) in mV at fs Hz: windows (n, S, L), or its samples (n, 1, L).

        Standardised per recording and lead unless raw. Raises Unusable if it yields no window.
        """
        if self.kind == "heartbeats":
            kept = heartbeats(signal, fs, self.rate, raw=self.raw).windows
        elif self.kind == "windows":
            kept = plain_windows(signal, fs, self.samples, self.rate, raw=self.raw, pad=self.pad)
        else:
            kept = whole(signal, fs, self.samples, self.rate, raw=self.raw, pad=self.pad)[:, None]  # (n, 1, L)
        if self.raw and np.abs(kept).max() > LARGEST:
            raise Unusable(f"too large to be kept in mV: {np.abs(kept).max():g}")
        return kept

    @property
    def unit(self) -> int:
        """Samples of what is kept as one item: a window, or one sample of a whole recording."""
        return 1 if self.kind == "recordings" else self.samples

    @property
    def joined_scale(self) -> bool:
        """Whether a pseudo-trial is standardised once more as a whole, as PMQ's and COMET's authors do."""
        return self.kind != "recordings" and not self.raw

    @property
    def anywhere(self) -> bool:
        """Whether a window may begin at any sample while pretraining."""
        return self.kind != "heartbeats"

    def step(self, per_trial: int) -> int:
        """Samples from the beginning of a pseudo-trial to that of the next; crops of a recording overlap."""
        return self.stride if self.stride and per_trial == 1 else per_trial * self.samples

    def trials_in(self, kept: NDArray[np.int64], per_trial: int) -> NDArray[np.int64]:
        """Pseudo-trials of `per_trial` windows that recordings with so many kept items give."""
        samples, length = kept * self.unit, per_trial * self.samples
        return np.where(samples >= length, (samples - length) // self.step(per_trial) + 1, 0)

    def windows_of_typical(self) -> int:
        """Windows of a recording of 10 s; of heartbeats, those at a rate of 70/min."""
        if self.kind == "heartbeats":
            return 11
        return max(1, int(self.trials_in(np.array(TYPICAL_SECONDS * self.rate // self.unit), 1)))

    def is_padded(self, samples: int, fs: float) -> bool:
        """Whether a recording of so many samples at fs Hz was lengthened."""
        return self.pad and int(samples * self.rate / fs) < self.samples

    @property
    def seconds(self) -> float:
        """Length of a window."""
        return self.samples / self.rate

    @property
    def word(self) -> str:
        """Noun for one window in messages."""
        return {"heartbeats": "heartbeat", "windows": "window", "recordings": "crop"}[self.kind]

    def words(self) -> Iterator[str]:
        """What differs from the paper's preparation, in words: '100 Hz', 'crops of 2.5 s every 1.25 s'."""
        if self.kind == "windows":
            yield f"windows of {self.seconds:g} s"
        if self.kind == "recordings":
            yield f"crops of {self.seconds:g} s every {self.stride / self.rate:g} s of whole recordings"
        if self.rate != FS:
            yield f"{self.rate} Hz"
        if self.raw:
            yield IN_MILLIVOLTS
        if self.pad:
            yield "shorter recordings lengthened by zeros"


HEARTBEATS = Segmentation()


def plain_seconds(seconds: float) -> Segmentation:
    """Plain windows of the given length in seconds."""
    return Segmentation("windows", round(seconds * FS))


def whole(
    signal: NDArray[np.floating[Any]], fs: float, samples: int, rate: int, *, raw: bool, pad: bool
) -> NDArray[np.float32]:
    """A recording (n_samples, L) at `rate` Hz, (n, L), of at least `samples`; standardised per lead unless `raw`.

    Raises Unusable if it has NaN or is shorter; with `pad`, zeros follow a shorter one.
    """
    if not np.isfinite(signal).all():
        raise Unusable("NaN samples")
    resampled = resample(signal, fs, rate)  # (n, L)
    if not len(resampled) or (len(resampled) < samples and not pad):
        raise Unusable(f"too short: {len(signal) / fs:.2f} s")
    scaled = resampled if raw else standardise(resampled)  # (n, L)
    missing = max(0, samples - len(scaled))
    return np.pad(scaled, ((0, missing), (0, 0))).astype(np.float32)  # (n, L)


def plain_windows(
    signal: NDArray[np.floating[Any]], fs: float, samples: int, rate: int = FS, *, raw: bool = False, pad: bool = False
) -> NDArray[np.float32]:
    """Consecutive windows (n, S, L) of a recording (n_samples, L); the rest is dropped. Arguments and errors of
    `whole`."""
    long = whole(signal, fs, samples, rate, raw=raw, pad=pad)  # (n, L)
    count = len(long) // samples
    return long[: count * samples].reshape(count, samples, long.shape[1])  # (n, S, L)
