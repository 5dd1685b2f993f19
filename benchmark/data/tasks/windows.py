"""The labelled windows of one side of a task, and recordings kept whole from which training takes crops."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.prepared.lead_sets import without_absent
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.scale import scale_of
from benchmark.data.prepared.trials import Trials
from benchmark.data.readers.base import LEADS
from benchmark.data.tasks.spec import TaskSpec
from benchmark.machine.seeds import LARGE
from benchmark.results.keys import digest


@dataclass(frozen=True)
class Windows:
    """Labelled windows of one split."""

    signal: Tensor  # (n, S, L) float16, on the device
    target: Tensor  # (n, C) float32 multi-hot, on the device
    recording: NDArray[np.str_]  # (n,)
    patient: NDArray[np.str_]  # (n,)

    def __len__(self) -> int:
        return len(self.recording)

    @cached_property
    def content(self) -> tuple[str, str]:
        """SHA-256 of the signals, and a hash of labels and recordings."""
        labels = hashlib.sha256(self.target.cpu().contiguous().numpy().data).hexdigest()
        signal = hashlib.sha256(self.signal.cpu().contiguous().numpy().data).hexdigest()
        return signal, digest([labels, self.recording.tolist()])

    @cached_property
    def recordings(self) -> list[str]:
        """Names of the recordings, sorted."""
        return sorted(set(self.recording.tolist()))

    @cached_property
    def patients(self) -> int:
        """Number of patients."""
        return len(set(self.patient.tolist()))

    def draw(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Signals (b, S, L) and targets (b, C) to train on, of numbered windows (b,)."""
        return self.signal[index], self.target[index]

    def first(self, count: int) -> Windows:
        """The first `count` windows."""
        return Windows(self.signal[:count], self.target[:count], self.recording[:count], self.patient[:count])

    def truth(self) -> NDArray[np.int64]:
        """Multi-hot labels (n, C) on the host."""
        return self.target.cpu().numpy().astype(np.int64)


@dataclass(frozen=True)
class Crops:
    """Labelled recordings kept whole, of which training takes a crop that begins anywhere."""

    signal: Tensor  # (n, L) float16, one recording after the other, on the device
    start: Tensor  # (M,) first sample of each recording
    places: Tensor  # (M,) number of samples at which a crop may begin
    target: Tensor  # (M, C) float32 multi-hot, on the device
    samples: int
    """S, of a crop."""

    def __len__(self) -> int:
        return len(self.start)

    def draw(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Signals (b, S, L) and targets (b, C) to train on, a crop of each numbered recording (b,), drawn anew."""
        place = torch.randint(LARGE, index.shape, device=index.device) % self.places[index]  # (b,)
        sample = (self.start[index] + place)[:, None] + torch.arange(self.samples, device=index.device)  # (b, S)
        return self.signal[sample], self.target[index]


def windows_of(
    prepared: Prepared,
    all_trials: Trials,
    target: NDArray[np.int64],
    index: NDArray[np.int64],
    spec: TaskSpec,
    device: torch.device,
) -> Windows:
    """Signals and labels of the numbered windows."""
    recording = all_trials.recording[index // all_trials.per_trial]  # (n,)
    entries = [prepared.entries[r] for r in recording]
    return Windows(
        signal=torch.from_numpy(without_absent(all_trials.windows(index), spec.leads)).to(device),
        target=torch.from_numpy(target[recording]).float().to(device),
        recording=np.array([entry.recording for entry in entries], dtype=np.str_),
        patient=np.array([entry.patient for entry in entries], dtype=np.str_),
    )


def crops_of(
    prepared: Prepared,
    all_trials: Trials,
    target: NDArray[np.int64],
    recordings: NDArray[np.int64],
    spec: TaskSpec,
    device: torch.device,
) -> Crops:
    """Signals and labels of numbered recordings (M,) that are kept whole."""
    first, samples = prepared.first_window, prepared.segmentation.samples
    parts = [all_trials.samples[first[r] : first[r + 1]] for r in recordings]
    signal = np.concatenate(parts) if parts else np.empty((0, len(LEADS)), np.float16)  # (n, L)
    signal = signal if all_trials.scale is None else all_trials.scale.applied(signal)
    length = np.array([len(part) for part in parts], np.int64)  # (M,)
    return Crops(
        signal=torch.from_numpy(without_absent(signal, spec.leads)).to(device),
        start=torch.from_numpy(np.cumsum(length) - length).to(device),
        places=torch.from_numpy(length - samples + 1).to(device),
        target=torch.from_numpy(target[recordings]).float().to(device),
        samples=samples,
    )


def scaled(all_trials: Trials, prepared: Prepared, spec: TaskSpec, recordings: NDArray[np.int64]) -> Trials:
    """The pseudo-trials, standardised by mean and deviation of some recordings where the task asks for that."""
    if spec.standardise != "dataset":
        return all_trials
    return replace(all_trials, scale=scale_of(prepared, recordings))
