"""Pseudo-trials of a prepared dataset: consecutive windows of a recording joined and normalised (PMQ, COMET).

They are computed once per number of windows and kept beside the windows as a memory map, so that a corpus need not fit
into memory.

    trials-K.f16     pseudo-trials of K windows
    trials-K.json    their digest, the fingerprint of the windows they were made of, K

No claim is made on them: processes that make them at once write the same bytes, each under a name of its own, and the
digest is in place before the pseudo-trials are.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepared.beats import normalise_trials
from benchmark.data.prepared.prepare import Prepared, memory_map
from benchmark.data.prepared.verify import intact
from benchmark.data.readers.base import LEADS
from benchmark.results.files.write import replacing, write_atomic

CHUNK = 128
"""Pseudo-trials normalised at a time."""

log = logging.getLogger(__name__)


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
    """Pseudo-trials of `per_trial` windows; those left over at a recording's end are dropped.

    A kept file that is damaged, or of other windows or another number, is made again and told in a line.
    """
    count = np.diff(prepared.first_window) // per_trial  # (R,) pseudo-trials of each recording
    shape = (int(count.sum()), per_trial * prepared.segmentation.samples, len(LEADS))  # T, P * S, L
    path = prepared.folder / f"trials-{per_trial}.f16"
    whose = {"fingerprint": prepared.fingerprint, "per_trial": per_trial}
    if not _usable(path, whose):
        _write_trials(path, prepared, count, whose)
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


def _usable(path: Path, whose: dict[str, Any]) -> bool:
    """Whether a file of pseudo-trials is whole and made of these windows; a line is told if it is there and is not."""
    if not path.is_file():
        return False
    try:
        told = json.loads(path.with_suffix(".json").read_bytes())
        if told == whose | {"sha256": told["sha256"]} and intact(path, told["sha256"]):
            return True
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        pass
    log.warning("%s is damaged or of other windows; it is not used, and made again from the windows", path)
    return False


def _write_trials(path: Path, prepared: Prepared, count: NDArray[np.int64], whose: dict[str, Any]) -> None:
    """Write the digest and the pseudo-trials, each atomically."""
    per_trial: int = whose["per_trial"]
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    within = np.arange(len(recording)) - np.repeat(np.cumsum(count) - count, count)  # (T,) 0, 1, .. in its recording
    first = prepared.first_window[recording] + within * per_trial  # (T,)
    content = hashlib.sha256()
    with replacing(path) as file:
        for start in range(0, len(first), CHUNK):
            index = first[start : start + CHUNK, None] + np.arange(per_trial)  # (CHUNK, per_trial)
            joined = normalise_trials(prepared.windows[index.ravel()], per_trial)  # (CHUNK, per_trial * S, 12)
            data = joined.astype(np.float16).tobytes()
            content.update(data)
            file.write(data)
        write_atomic(path.with_suffix(".json"), json.dumps(whose | {"sha256": content.hexdigest()}).encode())
