"""Pseudo-trials of a prepared dataset: consecutive windows of a recording joined and normalised (PMQ, COMET).

They are computed once per number of windows and kept beside the windows as a memory map, so that a corpus need not fit
into memory. Crops of whole recordings, and windows in mV, are not normalised once more: they are read from the windows'
own memory map, crops at a stride of theirs.

    trials-K.f16     pseudo-trials of K windows
    trials-K.json    their digest, the fingerprint of the windows they were made of, K

No claim is made on them: processes that make them at once write the same bytes, each under a name of its own, and the
digest is in place before the pseudo-trials are.

Standardisation by one number for a whole dataset: a scalar mean and deviation over recordings kept in mV.

As in the PTB-XL benchmark (Strodthoff et al. 2021), whose scaler sees the training set as one long row of samples, all
leads together.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS
from benchmark.data.heartbeats import normalise_trials
from benchmark.data.prepare import Prepared, memory_map
from benchmark.results.files import intact, replacing, write_atomic

Standardise = Literal["recording", "dataset", "none"]
"""recording: z-score per recording and lead; dataset: one mean and deviation; none: mV."""


class Scale(NamedTuple):
    """Scalar mean and deviation, mV."""

    mean: float
    deviation: float

    def applied(self, signal: NDArray[np.floating[Any]]) -> NDArray[np.float16]:
        """Signals of any shape, standardised in float32."""
        return ((signal.astype(np.float32) - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float16)


def scale_of(prepared: Prepared, recordings: NDArray[np.int64]) -> Scale:
    """Mean and deviation (ddof 0) over all kept samples and leads of some recordings; (0, 1) of nothing or of zeros."""
    count, total, squares = 0, 0.0, 0.0
    for number in recordings:
        own = prepared.windows[prepared.first_window[number] : prepared.first_window[number + 1]]
        values = own.astype(np.float64)
        count += values.size
        total += float(values.sum())
        squares += float(np.square(values).sum())
    if not count:
        return Scale(0.0, 1.0)
    mean = total / count
    deviation = float(np.sqrt(max(0.0, squares / count - mean * mean)))
    return Scale(mean, deviation or 1.0)


CHUNK = 128
"""Pseudo-trials normalised at a time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trials:
    """T pseudo-trials of a dataset, in the order of its recordings."""

    samples: NDArray[np.float16]
    """(n, 12) memory map that all of them lie in."""
    start: NDArray[np.int64]
    """(T,) first sample of each."""
    window: int
    """S, samples of a window."""
    recording: NDArray[np.int64]
    """(T,) index into the prepared entries."""
    patient: NDArray[np.int64]
    """(T,) patients numbered from 0 in order of first appearance in the prepared entries."""
    per_trial: int
    too_short: tuple[str, ...]
    """Recordings with windows, but too few for one pseudo-trial."""
    scale: Scale | None = None
    """Applied to what is taken; None for what is as it was kept."""

    @property
    def signal(self) -> NDArray[np.float16]:
        """(T, per_trial * S, 12) all of them; a view where they follow each other without gap or overlap."""
        length, every = self.per_trial * self.window, np.arange(len(self.start))
        if self.scale is None and np.array_equal(self.start, every * length):
            return self.samples[: length * len(every)].reshape(len(every), length, len(LEADS))
        return self.take(every)

    def take(self, trial: NDArray[np.int64]) -> NDArray[np.float16]:
        """Signals (n, per_trial * S, 12) of numbered pseudo-trials."""
        return self._stretches(self.start[trial], self.per_trial * self.window)

    def windows(self, index: NDArray[np.int64]) -> NDArray[np.float16]:
        """Signals (n, S, 12) of numbered windows: trial * per_trial + place in the pseudo-trial."""
        trial, place = np.divmod(index, self.per_trial)  # (n,), (n,)
        return self._stretches(self.start[trial] + place * self.window, self.window)

    def cut(self, trial: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.float16]:
        """Signals (n, S, 12) that begin at the given samples of numbered pseudo-trials."""
        return self._stretches(self.start[trial] + first, self.window)

    def _stretches(self, start: NDArray[np.int64], length: int) -> NDArray[np.float16]:
        """(n, length, 12) consecutive samples from each of n starts, scaled."""
        places = max(len(self.samples) - length + 1, 0)
        by_sample, by_lead = self.samples.strides
        every = as_strided(self.samples, (places, length, len(LEADS)), (by_sample, by_sample, by_lead))
        taken = np.ascontiguousarray(every[start])
        return taken if self.scale is None else self.scale.applied(taken)


def trials(prepared: Prepared, per_trial: int) -> Trials:
    """Pseudo-trials of `per_trial` windows; those left over at a recording's end are dropped.

    A kept file that is damaged, or of other windows or another number, is made again and told in a line.
    """
    cut = prepared.segmentation
    count = prepared.trials_of_each(per_trial)  # (R,)
    if cut.joined_scale:
        samples = _normalised(prepared, count, per_trial)  # (n, L)
        start = np.arange(int(count.sum())) * per_trial * cut.samples  # (T,)
    else:
        samples = prepared.windows.reshape(-1, len(LEADS))  # (n, L)
        first = np.repeat(prepared.first_window[:-1] * cut.unit, count)  # (T,) of its recording
        start = first + _place(count) * cut.step(per_trial)  # (T,)
    number = {patient: index for index, patient in enumerate(dict.fromkeys(e.patient for e in prepared.entries))}
    patient = np.array([number[entry.patient] for entry in prepared.entries], np.int64)  # (R,)
    recording = np.repeat(np.arange(len(count)), count)  # (T,)
    return Trials(
        samples=samples,
        start=start,
        window=cut.samples,
        recording=recording,
        patient=patient[recording],
        per_trial=per_trial,
        too_short=tuple(entry.recording for entry, n in zip(prepared.entries, count, strict=True) if n == 0),
    )


def _place(count: NDArray[np.int64]) -> NDArray[np.int64]:
    """(T,) 0, 1, .. of each pseudo-trial in its recording."""
    return np.asarray(np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count))


def _normalised(prepared: Prepared, count: NDArray[np.int64], per_trial: int) -> NDArray[np.float16]:
    """(n, 12) the normalised pseudo-trials, one after the other, as a memory map."""
    shape = (int(count.sum()) * per_trial * prepared.segmentation.samples, len(LEADS))
    path = prepared.folder / f"trials-{per_trial}.f16"
    whose = {"fingerprint": prepared.prepared_as or prepared.fingerprint, "per_trial": per_trial}
    if not _usable(path, whose):
        _write_trials(path, prepared, count, whose)
    return memory_map(path, shape)


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
    first = prepared.first_window[recording] + _place(count) * per_trial  # (T,)
    content = hashlib.sha256()
    with replacing(path) as file:
        for start in range(0, len(first), CHUNK):
            index = first[start : start + CHUNK, None] + np.arange(per_trial)  # (CHUNK, per_trial)
            joined = normalise_trials(prepared.windows[index.ravel()], per_trial)  # (CHUNK, per_trial * S, 12)
            data = joined.astype(np.float16).tobytes()
            content.update(data)
            file.write(data)
        write_atomic(path.with_suffix(".json"), json.dumps(whose | {"sha256": content.hexdigest()}).encode())
