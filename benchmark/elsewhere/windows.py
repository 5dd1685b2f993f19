"""The task of a cell in the windows of an encoder from elsewhere: the same recordings, cut to its own signals.

It learns from all its windows of the labelled recordings. Its prediction of a recording, pooled over its windows,
stands for each of the run's test windows of that recording, so that all rows are tested on the same windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.data.prepared.lead_sets import without_absent
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.prepared.windows import Segmentation
from benchmark.data.readers.base import LEADS
from benchmark.data.tasks.task import Task
from benchmark.data.tasks.windows import Windows
from benchmark.results.names import RECORDING
from benchmark.results.scoring.pooling import pooled_by
from methods.encoders.pretrained import Signals


def segmentation_of(signals: Signals) -> Segmentation:
    """How recordings are cut for an encoder: heartbeats, or consecutive windows, a shorter recording with zeros."""
    raw = signals.standardise != "recording"
    if signals.heartbeats:
        return Segmentation("heartbeats", signals.samples, signals.rate, raw=raw)
    return Segmentation("recordings", signals.samples, signals.rate, signals.samples, raw=raw, pad=True)


@dataclass(frozen=True)
class OwnWindows:
    """A dataset's recordings in the windows of an encoder."""

    prepared: Prepared
    """The dataset cut by `segmentation_of`."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""

    def of(self, windows: Windows) -> Windows:
        """All own windows (m, S, 12) of the recordings of some windows, in the order in which these first appear."""
        names, first = np.unique(windows.recording, return_index=True)  # (R,), (R,)
        order = np.sort(first)  # (R,)
        place = {(entry.recording, entry.patient): r for r, entry in enumerate(self.prepared.entries)}
        asked = zip(windows.recording[order].tolist(), windows.patient[order].tolist(), strict=True)
        found = [(n, place[own]) for n, own in zip(order, asked, strict=True) if own in place]
        assert len(order) == len(names)
        every = self._numbers([r for _, r in found])
        whose = np.repeat(np.array([n for n, _ in found], np.int64), [len(own) for own in every])  # (m,)
        index = np.concatenate(every) if every else np.empty(0, np.int64)  # (m,)
        device = windows.signal.device
        return Windows(
            signal=torch.from_numpy(without_absent(self._signals(index), self.leads)).to(device),
            target=windows.target[torch.from_numpy(whose).to(windows.target.device)],
            recording=windows.recording[whose],
            patient=windows.patient[whose],
        )

    def _numbers(self, recordings: Sequence[int]) -> list[NDArray[np.int64]]:
        """The numbers of the windows of each recording."""
        count = self.prepared.trials_of_each(1)  # (R,)
        first = np.cumsum(count) - count  # (R,)
        return [np.arange(first[r], first[r] + count[r]) for r in recordings]

    def _signals(self, index: NDArray[np.int64]) -> NDArray[np.float16]:
        """Numbered windows (m, S, 12), as they were kept: heartbeats are not standardised once more."""
        if self.prepared.segmentation.kind == "heartbeats":
            return np.asarray(self.prepared.windows[index])
        return trials(self.prepared, 1).take(index)


def own_task(task: Task, own: OwnWindows, validation: Windows, test: Windows) -> Task:
    """A task in own windows; `validation` and `test`: those sides, which label ratios and seeds share.

    Scores that choose count recordings.
    """
    return replace(task, train=own.of(task.train), validation=validation, test=test, unit=RECORDING, crops=None)


def lacking(task: Task, own: Task) -> list[str]:
    """A note on each side on which recordings give no window in the own form."""
    notes = []
    for side, windows in task.sides().items():
        there = len(own.sides()[side].recordings)
        if there < len(windows.recordings):
            without = len(windows.recordings) - there
            what = ": predicted by the classes' shares of the labels" if side == "test" else ""
            notes.append(f"{without} of {len(windows.recordings)} {side} recordings give no window of its own{what}")
    return notes


def spread(probability: NDArray[np.float32], own: Task, task: Task) -> NDArray[np.float32]:
    """Probabilities (n, C) of a task's test windows from those (m, C) of its own: each has that of its recording.

    A recording without an own window has the classes' shares among the labelled windows.
    """
    share = task.train.target.float().mean(0).cpu().numpy()  # (C,)
    names, whose = np.unique(own.test.recording, return_inverse=True)  # (R,), (m,)
    pooled = pooled_by(whose, probability, task.pool) if len(names) else np.empty((0, len(share)))  # (R, C)
    of_name = dict(zip(names.tolist(), pooled, strict=True))
    found = [of_name.get(name, share) for name in task.test.recording.tolist()]
    return np.stack(found).astype(np.float32) if found else np.empty((0, len(share)), np.float32)
