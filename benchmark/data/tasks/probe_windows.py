"""Probe windows: windows outside the pretraining corpus, for health measures; cut as for the downstream tasks.

They come from the downstream datasets, never from a test part, since what they show may influence choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import Trials, trials
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import split_or_none
from benchmark.data.tasks.windows import scaled

RECORDINGS = 256
"""Most recordings used, with two windows each: a measurement costs half a thousand forward passes."""


Tasks = Sequence[tuple[Prepared, TaskSpec]]
"""A prepared dataset under its tasks."""


@dataclass(frozen=True)
class ProbeWindows:
    """Two windows of each recording."""

    signal: Tensor  # (n, S, L) float16, on the device
    recording: Tensor  # (n,) int64, on the CPU
    patient: Tensor  # (n,) int64, on the CPU


def probe_windows(datasets: Sequence[Tasks], corpus: str, device: torch.device) -> ProbeWindows:
    """Windows of recordings outside the test parts and the pretraining corpus (the name of a dataset).

    datasets: of each the tasks that are tested; the first one's recordings are used. Patients with several recordings
    come first. Empty if no recording has two windows.
    """
    found = [unseen_recordings(tasks, corpus) for tasks in datasets]
    source = np.repeat(np.arange(len(found)), [len(unseen.patient) for unseen in found])  # (R,)
    if not len(source):
        nobody = torch.empty(0, dtype=torch.int64)  # (0,)
        return ProbeWindows(torch.empty(0, 0, 0), nobody, nobody)
    ids = np.concatenate([unseen.patient for unseen in found])  # (R,)
    pair = np.concatenate([unseen.pair for unseen in found])  # (R, 2)
    _, patient, count = np.unique(source * (ids.max() + 1) + ids, return_inverse=True, return_counts=True)
    chosen = np.lexsort((patient, count[patient] == 1))[:RECORDINGS]  # (R',)
    signal = np.stack([found[source[r]].trials.windows(pair[r]) for r in chosen])  # (R', 2, S, L)
    return ProbeWindows(
        signal=torch.from_numpy(signal).flatten(0, 1).to(device),
        recording=torch.arange(len(chosen)).repeat_interleave(2),
        patient=torch.from_numpy(patient[chosen]).repeat_interleave(2),
    )


class Unseen(NamedTuple):
    """Recordings of a dataset that are neither pretrained nor tested on."""

    trials: Trials  # all windows of the dataset
    pair: NDArray[np.int64]  # (R, 2) two windows of each recording
    patient: NDArray[np.int64]  # (R,)


def unseen_recordings(tasks: Tasks, corpus: str) -> Unseen:
    """Recordings of a dataset's first task that may be probed, with two windows or more; none if it cannot be split.

    The two windows lie a quarter from either end: heartbeats at the ends of a recording may be cut off.
    """
    prepared, spec = tasks[0]
    split, *others = [split_or_none(own, own_spec)[0] for own, own_spec in tasks]
    per_trial = spec.per_trial
    unseen = split.validation if prepared.dataset_name == corpus else np.concatenate([split.train, split.validation])
    for other in others:
        unseen = np.setdiff1d(unseen, other.test)
    all_trials = scaled(trials(prepared, per_trial), prepared, spec, split.train)
    held = np.flatnonzero(np.isin(all_trials.recording, unseen))  # (T,)
    _, start, count = np.unique(all_trials.recording[held], return_index=True, return_counts=True)  # (R,), (R,)
    first, size = held[start] * per_trial, count * per_trial  # (R,), (R,) windows
    first, size = first[size > 1], size[size > 1]
    pair = np.stack([first + size // 4, first + size - 1 - size // 4], axis=1)  # (R, 2)
    return Unseen(all_trials, pair, all_trials.patient[pair[:, 0] // per_trial])
