"""Windows of a recording: heartbeats (the paper's, `benchmark.data.heartbeats`) or crops; and missing leads.

Heartbeats are centred on an R peak and padded, which leaves of the rhythm only the width of the padding. `recordings`
keeps recordings whole, as the PTB-XL benchmark does: what is judged are crops of them at a fixed stride, what is
learned from are crops that begin anywhere; pretraining draws Segment(t, t + 2 dt) from any t (PMQ, section
"Neighboring"), of which the first half is the query and the second the key. Missing leads are zero, the mean of a
standardised lead; limb leads that could be computed from I and II stay missing, since 8 leads would else be 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.heartbeats import FS, WINDOW, Beats, heartbeats, resample, standardise
from benchmark.results.arrays import AnyFloats, Bools, Doubles, Floats, Halves, Ints

Kind = Literal["heartbeats", "recordings"]
Rate = Literal[100, 250, 500]
"""Hz."""
TYPICAL_SECONDS = 10
"""Length of a recording in the datasets of the suite, and of the stretch of a recording that is pretrained on."""
LARGEST = float(np.finfo(np.float16).max)
"""mV; what the cache can hold of a recording that is not standardised."""


@dataclass(frozen=True)
class Segmentation:
    """Settings by which recordings are cut."""

    kind: Kind = "heartbeats"
    samples: int = WINDOW
    """S, samples of a window at `rate`."""
    rate: int = FS
    """Hz."""
    stride: int = 0
    """Samples from the beginning of a crop to that of the next; 0 for heartbeats."""
    raw: bool = False
    """Windows are in mV, not standardised per recording and lead."""
    pad: bool = False
    """A recording shorter than a window is lengthened by zeros, instead of skipped."""
    beats: Beats = "authors"
    """Rule by which heartbeats are found."""

    def cut(self, signal: AnyFloats, fs: float) -> Floats:
        """Cut a recording (n_samples, L) in mV at fs Hz into windows (n, S, L), or return its samples (n, 1, L).

        Standardised per recording and lead unless raw. Raises Unusable if it yields no window.
        """
        if self.kind == "heartbeats":
            items = heartbeats(signal, fs, self.rate, raw=self.raw, beats=self.beats).windows  # (n, S, L)
        else:
            resampled = resample(signal, fs, self.rate)  # (n, L)
            missing = max(0, self.samples - len(resampled))
            if not len(resampled) or (missing and not self.pad):
                raise Unusable(f"too short: {len(signal) / fs:.2f} s")
            scaled = resampled if self.raw else standardise(resampled)  # (n, L)
            items = np.pad(scaled, ((0, missing), (0, 0))).astype(np.float32)[:, None]  # (n, 1, L)
        if self.raw and np.abs(items).max() > LARGEST:
            raise Unusable(f"too large to be kept in mV: {np.abs(items).max():g}")
        return items

    @property
    def samples_per_item(self) -> int:
        """Samples of an item of the prepared data: S of a window, 1 of a whole recording."""
        return 1 if self.kind == "recordings" else self.samples

    @property
    def standardises_trials(self) -> bool:
        """Tell whether a pseudo-trial is standardised once more as a whole, as PMQ's and COMET's authors do."""
        return self.kind == "heartbeats" and not self.raw

    def step(self, per_trial: int) -> int:
        """Return the samples from the beginning of a pseudo-trial to that of the next; crops of a recording overlap."""
        return self.stride if self.stride and per_trial == 1 else per_trial * self.samples

    def trials_in(self, items: Ints, per_trial: int) -> Ints:
        """Count the pseudo-trials of `per_trial` windows that recordings with so many items give."""
        samples = items * self.samples_per_item
        length = per_trial * self.samples
        return np.where(samples >= length, (samples - length) // self.step(per_trial) + 1, 0)

    def windows_of_typical(self) -> int:
        """Count the windows of a recording of 10 s; of heartbeats, those at a rate of 70/min."""
        if self.kind == "heartbeats":
            return 11
        return max(1, int(self.trials_in(np.array(TYPICAL_SECONDS * self.rate // self.samples_per_item), 1)))

    def is_padded(self, samples: Ints, fs: Doubles) -> Bools:
        """Tell whether recordings of so many samples at fs Hz were lengthened, (R,)."""
        return self.pad & ((samples * self.rate / fs).astype(np.int64) < self.samples)

    @property
    def seconds(self) -> float:
        """Length of a window."""
        return self.samples / self.rate

    @property
    def unit_name(self) -> str:
        """Noun for one window in messages."""
        return "heartbeat" if self.kind == "heartbeats" else "crop"


HEARTBEATS = Segmentation()


LEAD_SETS = {
    12: LEADS,
    8: ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"),
    6: LEADS[:6],
    3: ("I", "II", "V2"),
    2: ("I", "II"),
    1: ("I",),
}
"""Number of leads -> those of the literature: 8 are independent, 6 the limb leads, 3 and 2 those of the PhysioNet
Challenge 2021, 1 a watch."""


def leads_named(given: Any) -> list[str]:
    """Return the leads of a number of `LEAD_SETS`, of one name or of a list of names, in the order of `LEADS`.

    Raises ValueError in one line for anything else.
    """
    words = [str(word).strip().lower() for word in (given if isinstance(given, list | tuple) else [given])]
    if len(words) == 1 and words[0] in map(str, LEAD_SETS):
        return list(LEAD_SETS[int(words[0])])
    leads = [lead for lead in LEADS if lead.lower() in words]
    if not leads or len(leads) < len(words):
        numbers = ", ".join(map(str, LEAD_SETS))
        raise ValueError(f"{given!r} names no leads; there are {' '.join(LEADS)}, or one of the numbers {numbers}")
    return leads


def zero_missing_leads(signal: Halves, leads: Sequence[str]) -> Halves:
    """Return signals (..., 12) with zeros in the leads that are not named; the same array where all are."""
    present = np.isin(LEADS, leads)  # (12,)
    return signal if present.all() else np.where(present, signal, np.float16(0))
