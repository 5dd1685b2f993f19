"""Recordings -> the windows that an encoder reads, through the preparation that training used: the same bits.

A recording gives windows as `Segmentation.cut` cuts them, stored in float16 as the cache stores them, and standardised
as `data.prepared.trials` does: per pseudo-trial, by one scale, or not again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.config.errors import ConfigError
from benchmark.data.prepared.beats import normalise_trials
from benchmark.data.prepared.cutting import CHUNK, WORTH_A_WORKER
from benchmark.data.prepared.lead_sets import without_absent
from benchmark.data.prepared.scale import Scale
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import LEADS, Recording, Unusable
from benchmark.data.readers.checks import FASTEST, SLOWEST, checked_recording
from benchmark.data.readers.files.wfdb_record import lead_columns
from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.workers import shared_map

T = TypeVar("T")
Windows = NDArray[np.float16]
"""(m, S, 12) of one recording."""
Signals = NDArray[Any] | Sequence[NDArray[Any]]
"""Recordings (n, samples, leads), or n of any length (samples, leads)."""


@dataclass(frozen=True)
class Taken:
    """How the windows of a recording are taken."""

    segmentation: Segmentation
    per_trial: int
    scale: Scale | None = None
    """Of all samples; None: as the segmentation leaves them."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""


def windows_of(recording: Recording, how: Taken) -> Windows:
    """Windows (m, S, 12) of a recording, m a multiple of `per_trial`. Raises Unusable if it gives none."""
    cut, per_trial = how.segmentation, how.per_trial
    kept = cut.cut(recording.signal, recording.fs).astype(np.float16)  # (n, S, 12), or samples (n, 1, 12)
    count = int(cut.trials_in(np.array(len(kept)), per_trial))
    if not count:
        raise Unusable(f"fewer than {per_trial} {cut.word}s: {int(cut.trials_in(np.array(len(kept)), 1))}")
    if cut.joined_scale:
        windows = normalise_trials(kept, per_trial).astype(np.float16)  # (n // P, P * S, 12)
    else:
        length, step = per_trial * cut.samples, cut.step(per_trial)
        samples = kept.reshape(-1, len(LEADS))  # (n, 12)
        windows = np.stack([samples[first : first + length] for first in range(0, count * step, step)])
    scaled = windows if how.scale is None else how.scale.applied(windows)
    return without_absent(scaled, how.leads).reshape(-1, cut.samples, len(LEADS))  # (m, S, 12)


def cut_all(
    read: Callable[[T], Recording], items: Sequence[T], how: Taken, workers: int = 1
) -> Generator[Windows | str, None, None]:
    """The windows of each item's recording, in order, or the reason why it has none.

    Up to `workers` processes share them, and then `read` and the items are pickled; few are cut in this process.
    """
    chunks = [items[start : start + CHUNK] for start in range(0, len(items), CHUNK)]
    work = partial(_cut_chunk, read, how)
    for chunk in shared_map(work, chunks, min(workers, len(items) // WORTH_A_WORKER), keep_freed_memory):
        yield from chunk


def _cut_chunk(read: Callable[[T], Recording], how: Taken, items: Sequence[T]) -> list[Windows | str]:
    found: list[Windows | str] = []
    for item in items:
        try:
            found.append(windows_of(read(item), how))
        except Unusable as reason:
            found.append(str(reason))
    return found


def columns_of(leads: Sequence[str], present: Sequence[str] = LEADS) -> list[int]:
    """Column of each of the 12 leads among the names given, in any order and case; beyond the last for a lead that is
    neither given nor `present` for the encoder.

    Raises ConfigError if one is missing or there twice; the line names those that are not known.
    """
    if isinstance(leads, str):
        raise ConfigError(f"leads {leads!r} is one text; give a list of names, e.g. {list(LEADS)}")
    given = {str(lead).strip().lower() for lead in leads}
    absent = [lead for lead in LEADS if lead not in present and lead.lower() not in given]
    try:
        return lead_columns([*leads, *absent])
    except Unusable as reason:
        known = {lead.lower() for lead in LEADS}
        strange = [str(lead) for lead in leads if str(lead).strip().lower() not in known]
        told = f"; not known: {', '.join(strange)}" if strange else ""
        whose = "the 12 are" if len(present) == len(LEADS) else "the encoder needs"
        raise ConfigError(f"leads: {reason}{told}; {whose} {' '.join(present)}, in any order") from None


def check_signals(signals: Signals, rate: float, leads: Sequence[str]) -> None:
    """Raise ConfigError, in one line, unless these are recordings of these leads at a possible rate."""
    if not SLOWEST <= rate <= FASTEST:
        raise ConfigError(f"rate {rate:g} is not a sampling rate in Hz from {SLOWEST} to {FASTEST}")
    if isinstance(signals, np.ndarray) and signals.ndim == 2:
        raise ConfigError(
            f"signals of shape {signals.shape} are one recording: give signals[None], (1, samples, leads)"
        )
    for number, signal in enumerate(signals):
        shape, kind = np.shape(signal), np.asarray(signal).dtype.kind
        if len(shape) != 2 or kind not in "fiu":
            raise ConfigError(f"recording {number} is {np.asarray(signal).dtype} {shape}, not numbers (samples, leads)")
        if shape[1] != len(leads):
            raise ConfigError(f"recording {number} is of shape {shape}, and {len(leads)} leads are named")
        if isinstance(signals, np.ndarray) and signals.dtype.kind != "O":
            return  # the others are alike


def recording_of(signal: NDArray[Any], rate: float, columns: Sequence[int]) -> Recording:
    """A recording from numbers (samples, leads), as the readers make one of a file; a column beyond the last is zero.

    Raises Unusable.
    """
    numbers = np.asarray(signal, np.float64)
    beyond = max(columns) + 1 - numbers.shape[1]
    if beyond > 0:
        numbers = np.pad(numbers, ((0, 0), (0, beyond)))
    return checked_recording(numbers[:, columns], float(rate))


def each_of(
    signals: Signals, rate: float, leads: Sequence[str], present: Sequence[str] = LEADS
) -> tuple[Callable[[int], Recording], range]:
    """How to read each recording, and their numbers. Raises ConfigError like `columns_of` and `check_signals`."""
    columns = columns_of(leads, present)
    check_signals(signals, rate, leads)
    return lambda number: recording_of(signals[number], rate, columns), range(len(signals))
