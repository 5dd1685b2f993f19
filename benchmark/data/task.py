"""The task of a cell, on the device: labelled training windows, validation and test windows.

A window is a heartbeat or a crop, as the dataset was cut. A cell's task is the labelled subset of the training windows,
the validation windows whose labels may choose settings, and all test windows, which are the same for all methods,
ratios and seeds. A named task has the dataset's windows with other labels. Coverage says which patients of which class
a run cannot score, and why: rates under 50/min do not fit a heartbeat window and short recordings have too few beats.
Probe windows, for measures of health, are of the downstream datasets, outside the pretraining corpus and the test
parts, since what they show may influence choices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.corpus import Trials, scaled, trials_of
from benchmark.data.datasets.base import LEADS, Entry
from benchmark.data.prepare import Prepared, Skipped, open_prepared
from benchmark.data.segments import zero_missing_leads
from benchmark.data.splits import (
    DatasetTask,
    LabelledSubset,
    TaskSpec,
    is_cross_validated,
    labelled_subset,
    split_or_none,
    split_part,
    target_of,
    task_labels,
    tested_recordings,
    too_few_classes,
)
from benchmark.machine.device import LARGE
from benchmark.results.names import UNIT_OF_PROTOCOL, Pool
from benchmark.results.schema import digest


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
        offset = torch.randint(LARGE, index.shape, device=index.device) % self.places[index]  # (b,)
        sample = (self.start[index] + offset)[:, None] + torch.arange(self.samples, device=index.device)  # (b, S)
        return self.signal[sample], self.target[index]


@dataclass(frozen=True)
class Task:
    """Training, validation and test windows of a cell."""

    train: Windows
    validation: Windows
    test: Windows
    multi: bool
    """Sigmoid per class instead of softmax over classes."""
    unit: str
    """'heartbeat' (any window) or 'recording': what the validation score counts."""
    notes: list[str] = field(default_factory=list)
    """Remarks on the data that qualify the scores, e.g. a class without a labelled window."""
    unscored: str = ""
    """Why a side has no window, so that nothing can be scored; '' where each has one."""
    pool: Pool = "mean"
    """How the windows of a recording vote."""
    crops: Crops | None = None
    """Of the training side, where recordings are kept whole: what an encoder is trained on in place of its windows."""

    def sides(self) -> dict[str, Windows]:
        """Return the three splits by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def digests(self) -> dict[str, str]:
        """Hash the recording names of each split."""
        return {split: digest(windows.recordings) for split, windows in self.sides().items()}

    def counts(self) -> dict[str, int]:
        """Count windows, recordings and patients of each split."""
        counts = {}
        for split, windows in self.sides().items():
            counts[f"{split}_windows"] = len(windows)
            counts[f"{split}_recordings"] = len(windows.recordings)
            counts[f"{split}_patients"] = windows.patients
        return counts


@dataclass(frozen=True)
class Sides:
    """What the tasks on a dataset share: all but the labelled training windows."""

    prepared: Prepared
    spec: TaskSpec
    trials: Trials
    target: NDArray[np.int64]
    """(R, C) of each recording."""
    training_trials: NDArray[np.int64]
    """Numbers of the training pseudo-trials."""
    validation_trials: NDArray[np.int64]
    test_trials: NDArray[np.int64]
    problems: tuple[str, ...]
    """Which sides have no window, and why, or why fewer than two classes can be scored."""
    device: torch.device

    @cached_property
    def validation(self) -> Windows:
        """All windows of the validation side."""
        return self.windows(_all_windows(self.validation_trials, self.spec.per_trial))

    @cached_property
    def test(self) -> Windows:
        """All windows of the test side."""
        return self.windows(_all_windows(self.test_trials, self.spec.per_trial))

    def windows(self, index: NDArray[np.int64]) -> Windows:
        """Return the numbered windows with their labels."""
        recording = self.trials.recording[index // self.trials.per_trial]  # (n,)
        entries = [self.prepared.entries[r] for r in recording]
        return Windows(
            signal=torch.from_numpy(zero_missing_leads(self.trials.windows(index), self.spec.leads)).to(self.device),
            target=torch.from_numpy(self.target[recording]).float().to(self.device),
            recording=np.array([entry.recording for entry in entries], dtype=np.str_),
            patient=np.array([entry.patient for entry in entries], dtype=np.str_),
        )

    def crops(self, recordings: NDArray[np.int64]) -> Crops:
        """Return signals and labels of numbered recordings (M,) that are kept whole."""
        samples = self.prepared.segmentation.samples
        parts = [self.prepared.windows_of(int(r))[:, 0] for r in recordings]
        signal = np.concatenate(parts) if parts else np.empty((0, len(LEADS)), np.float16)  # (n, L)
        signal = signal if self.trials.scale is None else self.trials.scale.applied(signal)
        length = np.array([len(part) for part in parts], np.int64)  # (M,)
        return Crops(
            signal=torch.from_numpy(zero_missing_leads(signal, self.spec.leads)).to(self.device),
            start=torch.from_numpy(np.cumsum(length) - length).to(self.device),
            places=torch.from_numpy(length - samples + 1).to(self.device),
            target=torch.from_numpy(self.target[recordings]).float().to(self.device),
            samples=samples,
        )

    def labelled_trials(self, trial: NDArray[np.int64], ratio: float, seed: int, fewest: int = 1) -> LabelledSubset:
        """Draw the labelled share of numbered pseudo-trials, as the protocol says (`labelled_subset`).

        Of recordings kept whole, it draws recordings: their first crops.
        """
        if not len(trial):
            return LabelledSubset(trial, ())
        if self.prepared.segmentation.kind == "recordings":
            trial = trial[np.unique(self.trials.recording[trial], return_index=True)[1]]  # (R',)
        target, classes = self.target[self.trials.recording[trial]], self.prepared.classes
        patient = self.trials.patient[trial]
        return labelled_subset(trial, patient, target, ratio, self.spec, seed=seed, classes=classes, fewest=fewest)

    def all_crops(self, windows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all crops of the recordings of some windows, ascending; heartbeats as they are given."""
        if self.prepared.segmentation.kind == "heartbeats":
            return windows
        return np.flatnonzero(np.isin(self.trials.recording, self.trials.recording[windows]))


def sides_for_tasks(
    prepared: Prepared,
    spec: TaskSpec,
    *,
    device: torch.device,
    tested: bool = True,
    part: tuple[int, int] | None = None,
) -> Sides:
    """Return the sides of a dataset's tasks; one without a usable recording is empty, as are all without a split.

    tested: False leaves the test side empty without reading a window of it. part: of a cross-validation the part that
    is tested, and the seed that deals them.
    """
    split, problem = split_or_none(prepared, spec) if part is None else (split_part(prepared, spec, *part), None)
    recordings = {
        "train": split.train,
        "validation": split.validation,
        "test": split.test if tested else split.test[:0],
    }
    trials = scaled(trials_of(prepared, spec.per_trial), prepared, spec, split.train)
    trial = {side: np.flatnonzero(np.isin(trials.recording, numbers)) for side, numbers in recordings.items()}
    problems = [problem] if problem else []
    problems += [
        f"no {side} window: its recordings have fewer than {spec.per_trial} {prepared.segmentation.unit_name}s each"
        for side, numbers in recordings.items()
        if len(numbers) and not len(trial[side])
    ]
    if tested and not problems and (few := too_few_classes(prepared, split, spec)):
        problems = [few]
    target = target_of(prepared, spec)  # (R, C)
    return Sides(
        prepared, spec, trials, target, trial["train"], trial["validation"], trial["test"], tuple(problems), device
    )


def _all_windows(trial: NDArray[np.int64], per_trial: int) -> NDArray[np.int64]:
    """Number the windows of whole pseudo-trials."""
    return np.asarray((trial[:, None] * per_trial + np.arange(per_trial)).ravel(), np.int64)


def make_task(
    prepared: Prepared, spec: TaskSpec, *, ratio: float, seed: int, device: torch.device, tested: bool = True
) -> Task:
    """Make the task of a cell alone: `task_on` its own sides."""
    return task_on(sides_for_tasks(prepared, spec, device=device, tested=tested), ratio=ratio, seed=seed)


def task_on(sides: Sides, *, ratio: float, seed: int) -> Task:
    """Make the task with the labelled training windows of a ratio and a seed.

    The notes name empty sides and classes without a labelled window. Where validation labels are shared, they are drawn
    as those of the training side; under protocol `strict` they are of at least one patient per class.
    """
    subset = sides.labelled_trials(sides.training_trials, ratio, seed)
    labelled, crops, validation = sides.all_crops(subset.windows), None, sides.validation  # (n,)
    if sides.prepared.segmentation.kind == "recordings":
        crops = sides.crops(np.unique(sides.trials.recording[labelled]))
    if sides.spec.validation_labels == "share" and len(sides.validation_trials):
        fewest = len(sides.prepared.classes)
        shared = sides.labelled_trials(sides.validation_trials, ratio, seed, fewest)
        validation = sides.windows(sides.all_crops(np.sort(shared.windows)))
    return Task(
        train=sides.windows(labelled),
        validation=validation,
        test=sides.test,
        multi=sides.spec.labels == "multi",
        unit=UNIT_OF_PROTOCOL[sides.spec.protocol],
        notes=[*sides.problems, *subset.notes],
        unscored="; ".join(sides.problems),
        pool=sides.spec.pool,
        crops=crops,
    )


def of_task(prepared: Prepared, column: DatasetTask) -> Prepared:
    """Return a prepared dataset under a task: the same windows with the task's labels and a fingerprint of both."""
    task = column.named
    if task is None:
        return prepared
    entries = tuple(replace(entry, labels=task.labels(entry)) for entry in prepared.entries)
    skipped = tuple(replace(skip, labels=task.labels(skip)) for skip in prepared.skipped)
    labels = [[recording.labels for recording in recordings] for recordings in (entries, skipped)]
    return replace(
        prepared,
        name=column.name,
        title=f"{prepared.title} {column.task}",
        classes=task.classes,
        entries=entries,
        skipped=skipped,
        fingerprint=digest([prepared.fingerprint, column.task, task.classes, labels]),
        first_label_counts=False,
        dataset=prepared.name,
    )


@lru_cache(maxsize=4)
def open_task_view(folder: Path, column: DatasetTask) -> Prepared:
    """Open the prepared dataset in a folder under a task, once per process. Raises FileNotFoundError."""
    return of_task(open_prepared(folder), column)


class ClassCoverage(TypedDict):
    """One class of a dataset."""

    patients: int
    """Number of patients with a recording of the class."""
    unscored: dict[str, str]
    """Patient without a scorable recording of the class -> reason."""


def coverage(prepared: Prepared, spec: TaskSpec) -> dict[str, ClassCoverage]:
    """Count the patients of each class of the dataset under a task, in the order of the classes, whatever the split."""
    too_few = f"fewer than {spec.per_trial} {prepared.segmentation.unit_name}s"
    counts = prepared.trials_of_each(spec.per_trial)  # (R,)
    recordings: list[tuple[Entry | Skipped, str]] = [
        *((entry, "" if count else too_few) for entry, count in zip(prepared.entries, counts, strict=True)),
        *((skip, skip.reason.partition(":")[0]) for skip in prepared.skipped),
    ]
    reasons: list[dict[str, str]] = [
        {} for _ in prepared.classes
    ]  # of each class: patient -> first reason, '' if scored
    for recording, reason in recordings:
        for label in task_labels(recording.labels, spec, first_label_counts=prepared.first_label_counts):
            known = reasons[label].setdefault(recording.patient, reason)
            reasons[label][recording.patient] = known and reason and known
    return {
        name: ClassCoverage(patients=len(of_class), unscored={who: why for who, why in of_class.items() if why})
        for name, of_class in zip(prepared.classes, reasons, strict=True)
    }


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


def probe_windows(datasets: Sequence[Tasks], corpora: Sequence[str], device: torch.device) -> ProbeWindows:
    """Take windows of recordings outside the test parts and the pretraining corpora (names of datasets).

    datasets: of each the tasks that are tested; the first one's recordings are used. Patients with several recordings
    come first. Empty if no recording has two windows.
    """
    unseen = [unseen_recordings(tasks, corpora) for tasks in datasets]
    source = np.repeat(np.arange(len(unseen)), [len(recordings.patient) for recordings in unseen])  # (R,)
    if not len(source):
        nobody = torch.empty(0, dtype=torch.int64)  # (0,)
        return ProbeWindows(torch.empty(0, 0, 0), nobody, nobody)
    ids = np.concatenate([recordings.patient for recordings in unseen])  # (R,)
    pair = np.concatenate([recordings.pair for recordings in unseen])  # (R, 2)
    _, patient, count = np.unique(source * (ids.max() + 1) + ids, return_inverse=True, return_counts=True)
    chosen = np.lexsort((patient, count[patient] == 1))[:RECORDINGS]  # (R',)
    signal = np.stack([unseen[source[r]].trials.windows(pair[r]) for r in chosen])  # (R', 2, S, L)
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


def unseen_recordings(tasks: Tasks, corpora: Sequence[str]) -> Unseen:
    """Find the recordings of a dataset's first task that may be probed and have two windows or more.

    The two windows lie a quarter from either end: heartbeats at the ends of a recording may be cut off.
    """
    prepared, spec = tasks[0]
    split, _ = split_or_none(prepared, spec)
    unseen = split.validation if prepared.dataset_name in corpora else np.concatenate([split.train, split.validation])
    for data, task_spec in tasks[1:]:
        unseen = np.setdiff1d(unseen, tested_recordings(data, task_spec))
    if is_cross_validated(prepared, spec):
        unseen = unseen[:0]
    trials = scaled(trials_of(prepared, spec.per_trial), prepared, spec, split.train)
    chosen = np.flatnonzero(np.isin(trials.recording, unseen))  # (T,)
    _, start, count = np.unique(trials.recording[chosen], return_index=True, return_counts=True)  # (R,), (R,)
    first, size = chosen[start] * spec.per_trial, count * spec.per_trial  # (R,), (R,) windows
    first, size = first[size > 1], size[size > 1]
    pair = np.stack([first + size // 4, first + size - 1 - size // 4], axis=1)  # (R, 2)
    return Unseen(trials, pair, trials.patient[pair[:, 0] // spec.per_trial])
