"""The task of a cell, on the device: labelled training windows, validation and test windows.

A window is a heartbeat or a crop, as the dataset was cut. A cell's task is the labelled subset of the training windows,
the validation windows whose labels may choose settings, and all test windows, which are the same for all methods,
ratios and seeds. Probe windows, for measures of health, are of the downstream
datasets, outside the pretraining corpus and the test parts, since what they show may influence choices.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.data.column import Column
from benchmark.data.datasets.base import LEADS
from benchmark.data.segments import zero_missing_leads
from benchmark.data.splits import Part, labelled_subset
from benchmark.data.trials import Trials
from benchmark.machine import LARGE
from benchmark.results.arrays import Halves, Ints, Texts
from benchmark.results.files import digest
from benchmark.results.names import CRITERIA, UNIT_OF_PROTOCOL, Pool


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
        return np.unique(self.recording).tolist()

    def draw(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return signals (b, S, L) and targets (b, C) to train on, of numbered windows (b,)."""
        return self.signal[index], self.target[index]

    def first(self, count: int) -> Windows:
        """Return the first windows."""
        return Windows(self.signal[:count], self.target[:count], self.recording[:count], self.patient[:count])

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
    criterion: str = "f1"
    """Score that strengths, rates and epochs are chosen by (`CRITERIA`)."""
    notes: list[str] = field(default_factory=list)
    """Remarks on the data that qualify the scores, e.g. a class without a labelled window."""
    unscored: str = ""
    """Why a side has no window, so that nothing can be scored; '' where each has one."""
    pool: Pool = "mean"
    """Vote of the windows of a recording."""
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
        counts = {}
        for split, side in self.sides().items():
            counts[f"{split}_windows"] = len(side)
            counts[f"{split}_recordings"] = len(side.recordings)
            counts[f"{split}_patients"] = len(np.unique(side.patient))
        return counts


@dataclass(frozen=True)
class Sides:
    """Windows that the tasks on a dataset share: all but those that are labelled for training."""

    column: Column
    trials: Trials
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
        recordings = self.column.data.recordings
        return Windows(
            signal=torch.from_numpy(zero_missing_leads(self.trials.windows(index), self.column.spec.leads)).to(
                self.device
            ),
            target=torch.from_numpy(self.column.target[recording]).float().to(self.device),
            recording=np.array([recordings.recording[r] for r in recording], dtype=np.str_),
            patient=np.array([recordings.patient[r] for r in recording], dtype=np.str_),
        )

    def crops(self, recordings: Ints) -> Crops:
        """Return signals and labels of numbered recordings (M,) that are kept whole."""
        samples = self.column.data.segmentation.samples
        parts = [self.column.data.windows_of(int(r))[:, 0] for r in recordings]
        signal = np.concatenate([np.empty((0, len(LEADS)), np.float16), *parts])  # (n, L)
        signal = signal if self.trials.scale is None else self.trials.scale.applied(signal)
        length = np.array([len(part) for part in parts], np.int64)  # (M,)
        return Crops(
            signal=torch.from_numpy(zero_missing_leads(signal, self.column.spec.leads)).to(self.device),
            start=torch.from_numpy(np.cumsum(length) - length).to(self.device),
            starts=torch.from_numpy(length - samples + 1).to(self.device),
            target=torch.from_numpy(self.column.target[recordings]).float().to(self.device),
            samples=samples,
        )

    def labelled(self, side: str, ratio: float, seed: int, subset: int, fewest: int = 1) -> Ints:
        """Draw the labelled share of a side's windows, as the protocol says (`labelled_subset`), by number.

        Of recordings kept whole, it draws recordings, by their first crops, and takes all their crops, ascending.
        """
        trial, whole = self.numbers[side], self.column.data.segmentation.kind == "recordings"
        if not len(trial):
            return trial
        if whole:
            trial = trial[np.unique(self.trials.recording[trial], return_index=True)[1]]  # (R',)
        target = self.column.target[self.trials.recording[trial]]
        patient = self.trials.patient[trial]
        spec = self.column.spec
        drawn = labelled_subset(trial, patient, target, ratio, spec, seed=seed, subset=subset, fewest=fewest)
        recording = self.trials.recording
        return np.flatnonzero(np.isin(recording, recording[drawn])) if whole else drawn


def sides_for_tasks(column: Column, *, device: torch.device, tested: bool = True, part: Part | None = None) -> Sides:
    """Return the sides of a column's tasks; one without a usable recording is empty, as are all without a split.

    tested: False leaves the test side empty without reading a window of it. part: of a cross-validation the part that
    is tested.
    """
    split = column.split if part is None else column.split_of_part(part)
    recordings = split._asdict() | ({} if tested else {"test": split.test[:0]})
    trials = column.scaled_trials(split.train)
    numbers, problems = {}, []
    for side, chosen in recordings.items():
        numbers[side] = np.flatnonzero(np.isin(trials.recording, chosen))
        if len(chosen) and not len(numbers[side]):
            too_few = f"fewer than {column.spec.per_trial} {column.data.segmentation.unit_name}s"
            problems.append(f"no {side} window: its recordings have {too_few} each")
    if not problems and (problem := column.problem(split, is_scored=tested)):
        problems = [problem]
    return Sides(column, trials, numbers, tuple(problems), device)


def task_on(sides: Sides, *, ratio: float, seed: int, subset: int = 0) -> Task:
    """Make the task with the labelled training windows of a ratio, a seed and, under `paper`, a number of the subset.

    The notes name empty sides and classes without a labelled window. Where validation labels are shared, they are drawn
    as those of the training side; under protocol `strict` they are of at least one patient per class.
    """
    column = sides.column
    labelled_windows = sides.labelled("train", ratio, seed, subset)
    train = sides.windows(labelled_windows)
    crops = None
    validation = sides.validation
    if column.data.segmentation.kind == "recordings":
        crops = sides.crops(np.unique(sides.trials.recording[labelled_windows]))
    if column.spec.validation_labels == "share" and len(sides.numbers["validation"]):
        shared = sides.labelled("validation", ratio, seed, subset, fewest=len(column.data.classes))
        validation = sides.windows(np.sort(shared))
    notes = list(sides.problems)
    labelled = train.truth().sum(axis=0)  # (C,)
    absent = [name for name, count in zip(column.data.classes, labelled, strict=True) if not count]
    if absent and len(train):
        notes.append(f"no labelled window of class {', '.join(absent)}")
    return Task(
        train=train,
        validation=validation,
        test=sides.test,
        multi=column.spec.labels == "multi",
        unit=UNIT_OF_PROTOCOL[column.spec.protocol],
        criterion=CRITERIA[column.spec.protocol],
        notes=notes,
        unscored="; ".join(sides.problems),
        pool=column.spec.pool,
        crops=crops,
    )


RECORDINGS = 256
"""Most recordings that are probed, with two windows each: a measurement costs half a thousand forward passes."""
Tasks = Sequence[Column]
"""A dataset under its tasks."""


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
    readers = list[Callable[[], Halves]]()
    patient_of = list[tuple[int, int]]()  # numbers of the dataset and of the patient: an equal name is another patient
    for number, tasks in enumerate(datasets):
        trials, pairs = unseen_pairs(tasks, corpora)
        for pair in pairs:
            readers.append(partial(trials.windows, pair))
            patient_of.append((number, int(trials.patient[pair[0] // trials.per_trial])))
    count = Counter(patient_of)
    number_of = {patient: number for number, patient in enumerate(sorted(count))}
    in_order = sorted(range(len(readers)), key=lambda one: (count[patient_of[one]] == 1, patient_of[one]))
    chosen = in_order[:RECORDINGS]
    signal = [torch.from_numpy(readers[one]()) for one in chosen]  # (2, S, L) each
    patients = torch.tensor([number_of[patient_of[one]] for one in chosen], dtype=torch.int64)
    return ProbeWindows(
        signal=torch.cat(signal).to(device) if signal else torch.empty(0, 0, 0),
        recording=torch.arange(len(chosen)).repeat_interleave(2),
        patient=patients.repeat_interleave(2),
        source=digest([source_of(tasks, corpora) for tasks in datasets]),
    )


def source_of(tasks: Tasks, corpora: Sequence[str]) -> list[Any]:
    """Return what determines `unseen_pairs` and their samples, as values of JSON."""
    settings = []
    for column in tasks:
        spec = column.spec
        settings.append([column.data.fingerprint, spec.dividing(), spec.per_trial, spec.standardise])
    return [tasks[0].data.dataset_name in corpora, settings]


def unseen_pairs(tasks: Tasks, corpora: Sequence[str]) -> tuple[Trials, Ints]:
    """Return a dataset's windows, and two of each recording (R, 2) that its first task neither tests nor pretrains on.

    The two windows lie a quarter from either end: heartbeats at the ends of a recording may be cut off.
    """
    split, per_trial = tasks[0].split, tasks[0].spec.per_trial
    unseen = split.validation
    if tasks[0].data.dataset_name not in corpora:
        unseen = np.concatenate([split.train, unseen])
    for column in tasks:
        unseen = np.setdiff1d(unseen, column.tested)
    count = tasks[0].data.trials_of_each(per_trial)  # (R,)
    used = unseen[count[unseen] * per_trial > 1]  # (R',)
    first = (np.cumsum(count) - count)[used] * per_trial  # (R',) windows
    size = count[used] * per_trial  # (R',) windows
    quarter = size // 4
    pairs = np.stack([first + quarter, first + size - 1 - quarter], axis=1)
    return tasks[0].scaled_trials(split.train), pairs
