"""Pseudo-trials of a prepared dataset: their windows and their scale.

A pseudo-trial is `per_trial` consecutive windows of a recording. Windows stay in their memory map. Pseudo-trials of
heartbeats are standardised as a whole (PMQ, COMET), once per number K of windows, and kept beside the windows in
trials-K.f16.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmark.data.damage import remember, stamp_of
from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import Prepared, memory_map
from benchmark.results.arrays import AnyFloats, Halves, Ints
from benchmark.results.files import replacing

CHUNK = 128
"""Pseudo-trials that are standardised at a time."""


class Scale(NamedTuple):
    """Scalar mean and deviation, mV, of all samples and leads, as in the PTB-XL benchmark (Strodthoff et al. 2021)."""

    mean: float
    deviation: float

    def applied(self, signal: AnyFloats) -> Halves:
        """Standardise signals of any shape, in float32."""
        return ((signal.astype(np.float32) - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float16)


def scale_of(prepared: Prepared, recordings: Ints) -> Scale:
    """Return mean and deviation (ddof 0) over all samples of some recordings; (0, 1) of nothing or of zeros."""
    count, total, squares = 0, 0.0, 0.0
    for number in recordings:
        values = prepared.windows_of(int(number)).astype(np.float64)
        count += values.size
        total += float(values.sum())
        squares += float(np.square(values).sum())
    mean = total / max(count, 1)
    return Scale(mean, float(np.sqrt(max(0.0, squares / max(count, 1) - mean * mean))) or 1.0)


@dataclass(frozen=True)
class Trials:
    """T pseudo-trials of a prepared dataset, in the order of its recordings."""

    maps: tuple[Halves, ...]
    """(n, 12) memory maps in which they lie; several for a corpus of several datasets."""
    start: Ints
    """(T,) first sample of each, in the maps one after the other."""
    recording: Ints
    """(T,) number of its recording."""
    patient: Ints
    """(T,) patients numbered from 0 in order of first appearance among the recordings."""
    window: int
    """S, samples of a window."""
    per_trial: int
    """P, windows of a pseudo-trial."""
    scale: Scale | None = None
    """Mean and deviation that standardise the windows when they are read; None: they are not standardised."""

    def take(self, trial: Ints, first: Ints | int = 0) -> Halves:
        """Return windows (n, S, 12) of numbered pseudo-trials, each from its given sample on."""
        start = self.start[trial] + first
        begin = 0
        taken = np.empty((len(start), self.window, len(LEADS)), np.float16)
        for samples in self.maps:
            inside = (start >= begin) & (start < begin + max(len(samples), 1))  # (n,)
            if inside.any():
                windows = sliding_window_view(samples, (self.window, len(LEADS)))[:, 0]  # (windows, S, 12)
                taken[inside] = windows[start[inside] - begin]
            begin += len(samples)
        return taken if self.scale is None else self.scale.applied(taken)

    def windows(self, index: Ints) -> Halves:
        """Return (n, S, 12) numbered windows: trial * per_trial + position in the pseudo-trial."""
        trial, position = np.divmod(index, self.per_trial)  # (n,), (n,)
        return self.take(trial, position * self.window)

    def windows_in(self, trial: Ints) -> Ints:
        """Number the windows of whole pseudo-trials."""
        return (trial[:, None] * self.per_trial + np.arange(self.per_trial)).ravel()


def trials_of(prepared: Prepared, per_trial: int) -> Trials:
    """Return the pseudo-trials of `per_trial` windows; those left over at a recording's end are dropped."""
    cut = prepared.segmentation
    count = prepared.trials_of_each(per_trial)  # (R,)
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    position = np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count)  # (T,) in its recording
    first = prepared.recordings.first_window[recording]  # (T,) item of its recording
    maps = [prepared.windows.reshape(-1, len(LEADS))]
    start = first * cut.samples_per_item
    start = start + position * cut.step(per_trial)  # (T,)
    if prepared.members:
        parts = [(trials_of(data, per_trial), used) for data, used in prepared.members]
        maps = [part.maps[0] for part, _ in parts]
        begin = np.cumsum([0, *map(len, maps)])[:-1]
        used_starts = [part.start[np.isin(part.recording, used)] for part, used in parts]
        start = np.concatenate([one + at for one, at in zip(used_starts, begin, strict=True)])  # (T,)
    elif cut.standardises_trials:
        maps = [normalised_trials(prepared, first + position * per_trial, per_trial)]
        start = np.arange(len(recording)) * per_trial * cut.samples  # (T,)
    number: dict[str, int] = {}  # patient -> number by first appearance
    patients = [number.setdefault(patient, len(number)) for patient in prepared.recordings.patient]
    patient = np.array(patients, np.int64)  # (R,)
    return Trials(tuple(maps), start, recording, patient[recording], cut.samples, per_trial)


def normalised_trials(prepared: Prepared, first: Ints, per_trial: int) -> Halves:
    """Write (n, 12) pseudo-trials of the given first windows, one after the other, and map them.

    They are written once, to a temporary name that is renamed, with their digest (benchmark.data.damage).
    """
    path: Path = prepared.folder / f"trials-{per_trial}.f16"
    shape = len(first) * per_trial * prepared.segmentation.samples, len(LEADS)
    if not path.is_file() or path.stat().st_size != 2 * shape[0] * shape[1]:
        content = hashlib.sha256()
        with replacing(path) as file:
            for chunk in np.split(first, range(CHUNK, len(first), CHUNK)):
                windows = prepared.windows[(chunk[:, None] + np.arange(per_trial)).ravel()]  # (CHUNK * P, S, L)
                trials = normalise_trials(windows, per_trial).astype(np.float16).tobytes()
                content.update(trials)
                file.write(trials)
        remember(path, content.hexdigest(), stamp_of(path))
    return memory_map(path, shape)
