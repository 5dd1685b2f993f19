"""The task of a cell, on the device: labelled training windows, validation and test windows.

A window is a heartbeat or a crop, as the dataset was cut. A cell's task is the labelled subset of the training windows,
the validation windows whose labels may choose settings, and all test windows, which are the same for all methods,
ratios and seeds. Coverage says which patients of which class a run cannot score, and why: rates under 50/min do not fit
a heartbeat window and short recordings have too few beats. Probe windows, for measures of health, are of the downstream
datasets, outside the pretraining corpus and the test parts, since what they show may influence choices.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.data.corpus import Trials, scaled, trials_of
from benchmark.data.datasets.base import LEADS, Entry
from benchmark.data.prepare import Prepared, Skipped
from benchmark.data.segments import zero_missing_leads
from benchmark.data.splits import (
    Part,
    TaskSpec,
    labelled_subset,
    problem_of,
    split_of,
    split_part,
    target_of,
    task_labels,
    tested_recordings,
)
from benchmark.machine import LARGE
from benchmark.results.arrays import Ints, Texts
from benchmark.results.files import digest
from benchmark.results.names import UNIT_OF_PROTOCOL, Pool


@dataclass(frozen=True)
class Windows:
    """Labelled windows of one split."""

    signal: Tensor  # (n, S, L) float16, on the device
    target: Tensor  # (n, C) float32 multi-hot, on the device
    recording: Texts  # (n,)
    patient: Texts  # (n,)

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

    def draw(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return signals (b, S, L) and targets (b, C) to train on, of numbered windows (b,)."""
        return self.signal[index], self.target[index]

    def truth(self) -> Ints:
        """Return multi-hot labels (n, C) on the host."""
        return self.target.cpu().numpy().astype(np.int64)


@dataclass(frozen=True)
class Crops:
    """Labelled recordings kept whole, of which training takes a crop that begins anywhere."""

    signal: Tensor  # (n, L) float16, one recording after the other, on the device
    start: Tensor  # (M,) first sample of each recording
    starts: Tensor  # (M,) number of samples at which a crop may begin
    target: Tensor  # (M, C) float32 multi-hot, on the device
    samples: int
    """S, of a crop."""

    def __len__(self) -> int:
        return len(self.start)

    def draw(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Draw signals (b, S, L) and targets (b, C) to train on, a new crop of each numbered recording (b,)."""
        offset = torch.randint(LARGE, index.shape, device=index.device) % self.starts[index]  # (b,)
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
    """Crops of the training side, on which an encoder is trained in place of windows, where recordings are whole."""

    def sides(self) -> dict[str, Windows]:
        """Return the three splits by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def digests(self) -> dict[str, str]:
        """Hash the recording names of each split."""
        return {split: digest(windows.recordings) for split, windows in self.sides().items()}

    def counts(self) -> dict[str, int]:
        """Count windows, recordings and patients of each split."""
        return {
            f"{split}_{what}": count
            for split, side in self.sides().items()
            for what, count in (
                ("windows", len(side)),
                ("recordings", len(side.recordings)),
                ("patients", len(set(side.patient.tolist()))),
            )
        }


@dataclass(frozen=True)
class Sides:
    """What the tasks on a dataset share: all but the labelled training windows."""

    prepared: Prepared
    spec: TaskSpec
    trials: Trials
    target: Ints
    """(R, C) of each recording."""
    numbers: dict[str, Ints]
    """'train', 'validation' and 'test' -> numbers of the pseudo-trials there."""
    problems: tuple[str, ...]
    """Reasons why a side has no window, or why fewer than two classes can be scored."""
    device: torch.device

    @cached_property
    def validation(self) -> Windows:
        """All windows of the validation side."""
        return self.windows(self.trials.windows_in(self.numbers["validation"]))

    @cached_property
    def test(self) -> Windows:
        """All windows of the test side."""
        return self.windows(self.trials.windows_in(self.numbers["test"]))

    def windows(self, index: Ints) -> Windows:
        """Return the numbered windows with their labels."""
        recording = self.trials.recording[index // self.trials.per_trial]  # (n,)
        entries = [self.prepared.entries[r] for r in recording]
        return Windows(
            signal=torch.from_numpy(zero_missing_leads(self.trials.windows(index), self.spec.leads)).to(self.device),
            target=torch.from_numpy(self.target[recording]).float().to(self.device),
            recording=np.array([entry.recording for entry in entries], dtype=np.str_),
            patient=np.array([entry.patient for entry in entries], dtype=np.str_),
        )

    def crops(self, recordings: Ints) -> Crops:
        """Return signals and labels of numbered recordings (M,) that are kept whole."""
        samples = self.prepared.segmentation.samples
        parts = [self.prepared.windows_of(int(r))[:, 0] for r in recordings]
        signal = np.concatenate([np.empty((0, len(LEADS)), np.float16), *parts])  # (n, L)
        signal = signal if self.trials.scale is None else self.trials.scale.applied(signal)
        length = np.array([len(part) for part in parts], np.int64)  # (M,)
        return Crops(
            signal=torch.from_numpy(zero_missing_leads(signal, self.spec.leads)).to(self.device),
            start=torch.from_numpy(np.cumsum(length) - length).to(self.device),
            starts=torch.from_numpy(length - samples + 1).to(self.device),
            target=torch.from_numpy(self.target[recordings]).float().to(self.device),
            samples=samples,
        )

    def labelled(self, side: str, ratio: float, seed: int, fewest: int = 1) -> Ints:
        """Draw the labelled share of a side's windows, as the protocol says (`labelled_subset`), by number.

        Of recordings kept whole, it draws recordings, by their first crops, and takes all their crops, ascending.
        """
        trial, whole = self.numbers[side], self.prepared.segmentation.kind == "recordings"
        if not len(trial):
            return trial
        if whole:
            trial = trial[np.unique(self.trials.recording[trial], return_index=True)[1]]  # (R',)
        target, patient = self.target[self.trials.recording[trial]], self.trials.patient[trial]
        drawn = labelled_subset(trial, patient, target, ratio, self.spec, seed=seed, fewest=fewest)
        recording = self.trials.recording
        return np.flatnonzero(np.isin(recording, recording[drawn])) if whole else drawn


def sides_for_tasks(
    prepared: Prepared,
    spec: TaskSpec,
    *,
    device: torch.device,
    tested: bool = True,
    part: Part | None = None,
) -> Sides:
    """Return the sides of a dataset's tasks; one without a usable recording is empty, as are all without a split.

    tested: False leaves the test side empty without reading a window of it. part: of a cross-validation the part that
    is tested.
    """
    split = split_of(prepared, spec) if part is None else split_part(prepared, spec, part)
    recordings = split._asdict() | ({} if tested else {"test": split.test[:0]})
    trials = scaled(trials_of(prepared, spec.per_trial), prepared, spec, split.train)
    numbers = {side: np.flatnonzero(np.isin(trials.recording, chosen)) for side, chosen in recordings.items()}
    problems = [
        f"no {side} window: its recordings have fewer than {spec.per_trial} {prepared.segmentation.unit_name}s each"
        for side, chosen in recordings.items()
        if len(chosen) and not len(numbers[side])
    ]
    if not problems and (problem := problem_of(prepared, split, spec, is_scored=tested)):
        problems = [problem]
    return Sides(prepared, spec, trials, target_of(prepared, spec), numbers, tuple(problems), device)


def task_on(sides: Sides, *, ratio: float, seed: int) -> Task:
    """Make the task with the labelled training windows of a ratio and a seed.

    The notes name empty sides and classes without a labelled window. Where validation labels are shared, they are drawn
    as those of the training side; under protocol `strict` they are of at least one patient per class.
    """
    subset = sides.labelled("train", ratio, seed)
    train, crops, validation = sides.windows(subset), None, sides.validation
    if sides.prepared.segmentation.kind == "recordings":
        crops = sides.crops(np.unique(sides.trials.recording[subset]))
    if sides.spec.validation_labels == "share" and len(sides.numbers["validation"]):
        shared = sides.labelled("validation", ratio, seed, fewest=len(sides.prepared.classes))
        validation = sides.windows(np.sort(shared))
    absent = [name for name, count in zip(sides.prepared.classes, train.truth().sum(axis=0), strict=True) if not count]
    notes = [f"no labelled window of class {', '.join(absent)}"] if absent and len(train) else []
    return Task(
        train=train,
        validation=validation,
        test=sides.test,
        multi=sides.spec.labels == "multi",
        unit=UNIT_OF_PROTOCOL[sides.spec.protocol],
        notes=[*sides.problems, *notes],
        unscored="; ".join(sides.problems),
        pool=sides.spec.pool,
        crops=crops,
    )


def coverage(prepared: Prepared, spec: TaskSpec) -> dict[str, dict[str, Any]]:
    """Count the patients of each class of the dataset under a task, in the order of the classes, whatever the split.

    `patients`: those with a recording of the class; `unscored`: those of whom none can be scored -> the first reason.
    """
    too_few = f"fewer than {spec.per_trial} {prepared.segmentation.unit_name}s"
    scorable = prepared.trials_of_each(spec.per_trial)  # (R,)
    recordings: list[tuple[Entry | Skipped, str]] = [
        *((entry, "" if count else too_few) for entry, count in zip(prepared.entries, scorable, strict=True)),
        *((skip, skip.reason.partition(":")[0]) for skip in prepared.skipped),
    ]
    reasons: list[dict[str, str]] = [{} for _ in prepared.classes]  # patient -> first reason, '' if scored
    for recording, reason in sorted(recordings, key=lambda pair: bool(pair[1])):
        for label in task_labels(prepared, spec, recording.labels):
            reasons[label].setdefault(recording.patient, reason)
    return {
        name: {"patients": len(of_class), "unscored": {who: why for who, why in of_class.items() if why}}
        for name, of_class in zip(prepared.classes, reasons, strict=True)
    }


RECORDINGS = 256
"""Most recordings that are probed, with two windows each: a measurement costs half a thousand forward passes."""
Tasks = Sequence[tuple[Prepared, TaskSpec]]
"""A prepared dataset under its tasks."""


@dataclass(frozen=True)
class ProbeWindows:
    """Two windows of each recording."""

    signal: Tensor  # (n, S, L) float16, on the device
    recording: Tensor  # (n,) int64, on the CPU
    patient: Tensor  # (n,) int64, on the CPU
    source: str = ""
    """Digest of what they were taken from: health of other windows is not comparable."""


def probe_windows(datasets: Sequence[Tasks], corpora: Sequence[str], device: torch.device) -> ProbeWindows:
    """Take windows of recordings outside the test parts and the pretraining corpora (names of datasets).

    datasets: of each the tasks that are tested; the first one's recordings are used. Patients with several recordings
    come first. Empty if no recording has two windows.
    """
    candidates = [
        (trials, pair, (number, int(trials.patient[pair[0] // trials.per_trial])))  # an equal name is another patient
        for number, (trials, pairs) in enumerate(unseen_pairs(tasks, corpora) for tasks in datasets)
        for pair in pairs
    ]
    count = Counter(patient for *_, patient in candidates)
    number_of = {patient: number for number, patient in enumerate(sorted(count))}
    chosen = sorted(candidates, key=lambda candidate: (count[candidate[2]] == 1, candidate[2]))[:RECORDINGS]
    signal = [torch.from_numpy(trials.windows(pair)) for trials, pair, _ in chosen]  # (2, S, L) each
    return ProbeWindows(
        signal=torch.cat(signal).to(device) if signal else torch.empty(0, 0, 0),
        recording=torch.arange(len(chosen)).repeat_interleave(2),
        patient=torch.tensor([number_of[patient] for *_, patient in chosen], dtype=torch.int64).repeat_interleave(2),
        source=digest([source_of(tasks, corpora) for tasks in datasets]),
    )


def source_of(tasks: Tasks, corpora: Sequence[str]) -> list[Any]:
    """Return what determines `unseen_pairs` and their samples, as values of JSON."""
    is_pretrained_on = tasks[0][0].dataset_name in corpora
    settings = [[data.fingerprint, spec.dividing(), spec.per_trial, spec.standardise] for data, spec in tasks]
    return [is_pretrained_on, settings]


def unseen_pairs(tasks: Tasks, corpora: Sequence[str]) -> tuple[Trials, Ints]:
    """Return a dataset's windows, and two of each recording (R, 2) that its first task neither tests nor pretrains on.

    The two windows lie a quarter from either end: heartbeats at the ends of a recording may be cut off.
    """
    prepared, spec = tasks[0]
    split = split_of(prepared, spec)
    unseen = split.validation if prepared.dataset_name in corpora else np.concatenate([split.train, split.validation])
    for data, task_spec in tasks:
        unseen = np.setdiff1d(unseen, tested_recordings(data, task_spec))
    trials = scaled(trials_of(prepared, spec.per_trial), prepared, spec, split.train)
    chosen = np.flatnonzero(np.isin(trials.recording, unseen))  # (T,)
    _, start, count = np.unique(trials.recording[chosen], return_index=True, return_counts=True)  # (R,), (R,)
    first, size = chosen[start] * spec.per_trial, count * spec.per_trial  # (R,), (R,) windows
    first, size = first[size > 1], size[size > 1]
    return trials, np.stack([first + size // 4, first + size - 1 - size // 4], axis=1)
