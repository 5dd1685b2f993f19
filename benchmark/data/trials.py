"""Pseudo-trials of a prepared dataset: consecutive beats of a recording joined and normalised (PMQ, COMET).

They are computed once per number of beats and kept beside the beats as a memory map, so that a corpus need not fit
into memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.data.base import LEADS, DatasetError
from benchmark.data.beats import WINDOW, normalise_trials
from benchmark.data.prepare import BEAT_BYTES, Prepared

CHUNK = 128
"""Pseudo-trials normalised at a time."""


@dataclass(frozen=True)
class Trials:
    """T pseudo-trials of a dataset, in the order of its recordings."""

    signal: NDArray[np.float16]
    """(T, beats_per_trial * 300, 12) memory map, z-scored per pseudo-trial and lead."""
    recording: NDArray[np.int64]
    """(T,) index into the prepared entries."""
    patient: NDArray[np.int64]
    """(T,) patients numbered from 0 in order of first appearance in the prepared entries."""
    beats_per_trial: int
    too_short: tuple[str, ...]
    """Recordings with beats, but too few for one pseudo-trial."""


def trials(prepared: Prepared, beats_per_trial: int) -> Trials:
    """Pseudo-trials of `beats_per_trial` beats; the beats left over at a recording's end are dropped.

    Raises DatasetError where no recording has that many beats.
    """
    count = np.diff(prepared.first_beat) // beats_per_trial  # (R,) pseudo-trials of each recording
    total = int(count.sum())
    if total == 0:
        raise DatasetError(f"{prepared.title}: no recording has the {beats_per_trial} beats of a pseudo-trial")
    path = prepared.folder / f"trials-{beats_per_trial}.f16"
    if not path.is_file() or path.stat().st_size != total * beats_per_trial * BEAT_BYTES:
        _write_trials(path, prepared, count, beats_per_trial)
    number = {patient: index for index, patient in enumerate(dict.fromkeys(e.patient for e in prepared.entries))}
    patient = np.array([number[entry.patient] for entry in prepared.entries], np.int64)  # (R,)
    recording = np.repeat(np.arange(len(count), dtype=np.int64), count)  # (T,)
    return Trials(
        signal=np.memmap(path, np.float16, "r", shape=(total, beats_per_trial * WINDOW, len(LEADS))),
        recording=recording,
        patient=patient[recording],
        beats_per_trial=beats_per_trial,
        too_short=tuple(entry.recording for entry, n in zip(prepared.entries, count, strict=True) if n == 0),
    )


def _write_trials(path: Path, prepared: Prepared, count: NDArray[np.int64], beats_per_trial: int) -> None:
    """Write the pseudo-trials whole or not at all."""
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    within = np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count)  # (T,) 0, 1, .. in its recording
    first = prepared.first_beat[recording] + within * beats_per_trial  # (T,)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            for start in range(0, len(first), CHUNK):
                beats = first[start : start + CHUNK, None] + np.arange(beats_per_trial)  # (CHUNK, beats_per_trial)
                file.write(
                    normalise_trials(prepared.beats[beats.ravel()], beats_per_trial).astype(np.float16).tobytes()
                )
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
