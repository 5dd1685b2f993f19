"""Pseudo-trials of a prepared dataset: consecutive windows of a recording joined and normalised (PMQ, COMET).

They are computed once per number of windows and kept beside the windows as a memory map, so that a corpus need not fit
into memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.beats import normalise_trials
from benchmark.data.prepared.prepare import Prepared, memory_map
from benchmark.data.readers.base import LEADS
from benchmark.results.files import replacing

CHUNK = 128
"""Pseudo-trials normalised at a time."""


@dataclass(frozen=True)
class Trials:
    """T pseudo-trials of a dataset, in the order of its recordings."""

    signal: NDArray[np.float16]
    """(T, per_trial * S, 12) memory map, z-scored per pseudo-trial and lead."""
    recording: NDArray[np.int64]
    """(T,) index into the prepared entries."""
    patient: NDArray[np.int64]
    """(T,) patients numbered from 0 in order of first appearance in the prepared entries."""
    per_trial: int
    too_short: tuple[str, ...]
    """Recordings with windows, but too few for one pseudo-trial."""


def trials(prepared: Prepared, per_trial: int) -> Trials:
    """Pseudo-trials of `per_trial` windows; those left over at a recording's end are dropped."""
    count = np.diff(prepared.first_window) // per_trial  # (R,) pseudo-trials of each recording
    shape = (int(count.sum()), per_trial * prepared.segmentation.samples, len(LEADS))  # T, P * S, L
    path = prepared.folder / f"trials-{per_trial}.f16"
    if not path.is_file() or path.stat().st_size != np.prod(shape) * np.dtype(np.float16).itemsize:
        _write_trials(path, prepared, count, per_trial)
    number = {patient: index for index, patient in enumerate(dict.fromkeys(e.patient for e in prepared.entries))}
    patient = np.array([number[entry.patient] for entry in prepared.entries], np.int64)  # (R,)
    recording = np.repeat(np.arange(len(count), dtype=np.int64), count)  # (T,)
    return Trials(
        signal=memory_map(path, shape),
        recording=recording,
        patient=patient[recording],
        per_trial=per_trial,
        too_short=tuple(entry.recording for entry, n in zip(prepared.entries, count, strict=True) if n == 0),
    )


def _write_trials(path: Path, prepared: Prepared, count: NDArray[np.int64], per_trial: int) -> None:
    """Write the pseudo-trials atomically."""
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    within = np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count)  # (T,) 0, 1, .. in its recording
    first = prepared.first_window[recording] + within * per_trial  # (T,)
    with replacing(path) as file:
        for start in range(0, len(first), CHUNK):
            index = first[start : start + CHUNK, None] + np.arange(per_trial)  # (CHUNK, per_trial)
            joined = normalise_trials(prepared.windows[index.ravel()], per_trial)  # (CHUNK, per_trial * S, 12)
            file.write(joined.astype(np.float16).tobytes())
