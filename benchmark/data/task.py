"""The task of a cell, on the device: labelled training windows, validation and test windows.

A window is a heartbeat or a crop, as the dataset was cut. A cell's task is the labelled subset of the
training windows, the validation windows whose labels may choose settings, and all test windows, which are the same for
all methods, ratios and seeds.

A prepared dataset under a named task: the same windows with other labels, prepared once for all tasks.

Coverage: which patients of which class a run cannot score, and why.

A recording is scored if it yields a pseudo-trial. Rates under 50/min do not fit a heartbeat window and short recordings
have too few beats, so some classes (bradycardia above all) lose patients. Counts cover the whole dataset, whatever
the split: a skipped recording is on no side.

Probe windows: windows outside the pretraining corpus, for health measures; cut as for the downstream tasks.

They come from the downstream datasets, never from a test part, since what they show may influence choices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.corpus import Trials, scaled, trials_of
from benchmark.data.datasets.base import LEADS
from benchmark.data.folds import is_cross_validated, split_part, tested_recordings
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.segments import without_absent
from benchmark.data.splits import (
    DatasetTask,
    LabelledSubset,
    TaskSpec,
    labelled_subset,
    split_or_none,
    target_matrix,
    task_labels,
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
    samples = prepared.segmentation.samples
    parts = [prepared.windows_of(int(r))[:, 0] for r in recordings]
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
        """The three splits by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def digests(self) -> dict[str, str]:
        """Split -> hash of its recording names."""
        return {split: digest(windows.recordings) for split, windows in self.sides().items()}

    def counts(self) -> dict[str, int]:
        """Windows, recordings and patients of each split."""
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
    train: NDArray[np.int64]
    """Numbers of the training pseudo-trials."""
    held_out: NDArray[np.int64]
    """Numbers of the validation pseudo-trials."""
    validation: Windows
    """Their windows."""
    test: Windows
    empty: tuple[str, ...]
    """Which sides have no window, and why, or why fewer than two classes can be scored."""
    device: torch.device
    fewest: int = 1
    """Patients that are labelled at least, where the protocol draws patients."""


def sides_for_tasks(
    prepared: Prepared,
    spec: TaskSpec,
    *,
    device: torch.device,
    tested: bool = True,
    part: tuple[int, int] | None = None,
) -> Sides:
    """The sides of a dataset's tasks. One without a usable recording is empty, as are all if it cannot be split.

    tested: False leaves the test side empty without reading a window of it. part: of a cross-validation the part that
    is tested, and the seed that deals them.
    """
    per_trial = spec.per_trial
    all_trials = trials_of(prepared, per_trial)
    split, problem = split_or_none(prepared, spec) if part is None else (split_part(prepared, spec, *part), None)
    target = target_matrix(
        prepared.entries, len(prepared.classes), spec, first_label_counts=prepared.first_label_counts
    )  # (R, C)
    all_trials = scaled(all_trials, prepared, spec, split.train)
    recordings = {"train": split.train, "validation": split.validation, "test": split.test}
    if not tested:
        recordings["test"] = np.empty(0, np.int64)
    sides = {name: np.flatnonzero(np.isin(all_trials.recording, own)) for name, own in recordings.items()}
    empty = [problem] if problem else []
    empty += [
        f"no {name} window: its recordings have fewer than {per_trial} {prepared.segmentation.word}s each"
        for name, own in recordings.items()
        if len(own) and not len(sides[name])
    ]
    if tested and not empty and (few := too_few_classes(prepared, split, spec)):
        empty = [few]

    def windows(trial: NDArray[np.int64]) -> Windows:
        return windows_of(prepared, all_trials, target, _all_windows(trial, per_trial), spec, device)

    return Sides(
        prepared,
        spec,
        all_trials,
        target,
        train=sides["train"],
        held_out=sides["validation"],
        validation=windows(sides["validation"]),
        test=windows(sides["test"]),
        empty=tuple(empty),
        device=device,
    )


def make_task(
    prepared: Prepared, spec: TaskSpec, *, ratio: float, seed: int, device: torch.device, tested: bool = True
) -> Task:
    """The task of a cell alone: `task_on` its own sides."""
    return task_on(sides_for_tasks(prepared, spec, device=device, tested=tested), ratio=ratio, seed=seed)


def labelled_share(sides: Sides, ratio: float, seed: int) -> LabelledSubset:
    """The labelled share of the training windows as the protocol draws it (`labelled_subset`).

    Of recordings kept whole, it draws recordings: their first crops.
    """
    unit = sides.train  # (N,)
    if sides.prepared.segmentation.kind == "recordings":
        unit = unit[np.unique(sides.trials.recording[unit], return_index=True)[1]]  # (R',)
    return labelled_subset(
        unit,
        sides.trials.patient[unit],
        sides.target[sides.trials.recording[unit]],
        ratio,
        sides.spec,
        seed=seed,
        classes=sides.prepared.classes,
        fewest=sides.fewest,
    )


def labelled_validation(sides: Sides, ratio: float, seed: int) -> Windows:
    """The validation windows that are labelled at a ratio: drawn as those of the training side.

    Under protocol `strict` they are of at least one patient per class. Of recordings kept whole, all crops of those
    drawn.
    """
    if not len(sides.held_out):
        return sides.validation
    held_out = replace(sides, train=sides.held_out, fewest=len(sides.prepared.classes))
    drawn = np.sort(labelled_share(held_out, ratio, seed).windows)  # (n,)
    if sides.prepared.segmentation.kind == "recordings":
        drawn = np.flatnonzero(np.isin(sides.trials.recording, sides.trials.recording[drawn]))  # (n,)
    return windows_of(sides.prepared, sides.trials, sides.target, drawn, sides.spec, sides.device)


def task_on(sides: Sides, *, ratio: float, seed: int) -> Task:
    """The task with the labelled training windows of a ratio and a seed.

    The notes name empty sides and classes without a labelled window.
    """
    prepared, spec, all_trials = sides.prepared, sides.spec, sides.trials
    subset = labelled_share(sides, ratio, seed) if len(sides.train) else LabelledSubset(np.empty(0, np.int64), ())
    shared = spec.validation_labels == "share"
    labelled, crops = subset.windows, None  # (n,)
    if prepared.segmentation.kind == "recordings":
        recordings = np.unique(all_trials.recording[labelled])  # (M,)
        labelled = np.flatnonzero(np.isin(all_trials.recording, recordings))  # (n,) all crops of each
        crops = crops_of(prepared, all_trials, sides.target, recordings, spec, sides.device)
    return Task(
        train=windows_of(prepared, all_trials, sides.target, labelled, spec, sides.device),
        validation=labelled_validation(sides, ratio, seed) if shared else sides.validation,
        test=sides.test,
        multi=spec.labels == "multi",
        unit=UNIT_OF_PROTOCOL[spec.protocol],
        notes=[*sides.empty, *subset.notes],
        unscored="; ".join(sides.empty),
        pool=spec.pool,
        crops=crops,
    )


def _all_windows(trial: NDArray[np.int64], per_trial: int) -> NDArray[np.int64]:
    """Window numbers of whole pseudo-trials."""
    return np.asarray((trial[:, None] * per_trial + np.arange(per_trial)).ravel(), np.int64)


def of_task(prepared: Prepared, column: DatasetTask) -> Prepared:
    """A prepared dataset under a task: the same windows with the task's labels and a fingerprint of both."""
    task = column.named
    if task is None:
        return prepared
    entries = tuple(replace(entry, labels=task.labels(entry)) for entry in prepared.entries)
    skipped = tuple(replace(skip, labels=task.labels(skip)) for skip in prepared.skipped)
    labels = [[one.labels for one in listed] for listed in (entries, skipped)]
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
    """The prepared dataset in a folder under a task, opened once per process. Raises FileNotFoundError."""
    return of_task(open_prepared(folder), column)


class ClassCoverage(TypedDict):
    """One class of a dataset."""

    patients: int
    """Number of patients with a recording of the class."""
    unscored: dict[str, str]
    """Patient without a scorable recording of the class -> reason."""


def coverage(prepared: Prepared, spec: TaskSpec) -> dict[str, ClassCoverage]:
    """Class -> its coverage under a task; all classes of the dataset, in order."""
    reasons: list[dict[str, str]] = [{} for _ in prepared.classes]
    scored: list[set[str]] = [set() for _ in prepared.classes]
    for patient, stated, reason in recordings_of(prepared, spec.per_trial):
        for label in task_labels(stated, spec, first_label_counts=prepared.first_label_counts):
            if reason:
                reasons[label].setdefault(patient, reason)
            else:
                scored[label].add(patient)
    return {
        name: ClassCoverage(
            patients=len(there | why.keys()),
            unscored={patient: reason for patient, reason in why.items() if patient not in there},
        )
        for name, why, there in zip(prepared.classes, reasons, scored, strict=True)
    }


def recordings_of(prepared: Prepared, per_trial: int) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Patient, labels and kind of reason for not being scored ('' if scored) of every known recording."""
    counts = prepared.trials_of_each(per_trial)  # (R,)
    too_few = f"fewer than {per_trial} {prepared.segmentation.word}s"
    for entry, count in zip(prepared.entries, counts, strict=True):
        yield entry.patient, entry.labels, "" if count else too_few
    for skip in prepared.skipped:
        yield skip.patient, skip.labels, skip.reason.partition(":")[0]


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
    """Windows of recordings outside the test parts and the pretraining corpora (names of datasets).

    datasets: of each the tasks that are tested; the first one's recordings are used. Patients with several recordings
    come first. Empty if no recording has two windows.
    """
    found = [unseen_recordings(tasks, corpora) for tasks in datasets]
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


def unseen_recordings(tasks: Tasks, corpora: Sequence[str]) -> Unseen:
    """Recordings of a dataset's first task that may be probed, with two windows or more; none if it cannot be split.

    The two windows lie a quarter from either end: heartbeats at the ends of a recording may be cut off.
    """
    prepared, spec = tasks[0]
    split, _ = split_or_none(prepared, spec)
    per_trial = spec.per_trial
    unseen = split.validation if prepared.dataset_name in corpora else np.concatenate([split.train, split.validation])
    for own, own_spec in tasks[1:]:
        unseen = np.setdiff1d(unseen, tested_recordings(own, own_spec))
    if is_cross_validated(prepared, spec):
        unseen = unseen[:0]
    all_trials = scaled(trials_of(prepared, per_trial), prepared, spec, split.train)
    held = np.flatnonzero(np.isin(all_trials.recording, unseen))  # (T,)
    _, start, count = np.unique(all_trials.recording[held], return_index=True, return_counts=True)  # (R,), (R,)
    first, size = held[start] * per_trial, count * per_trial  # (R,), (R,) windows
    first, size = first[size > 1], size[size > 1]
    pair = np.stack([first + size // 4, first + size - 1 - size // 4], axis=1)  # (R, 2)
    return Unseen(all_trials, pair, all_trials.patient[pair[:, 0] // per_trial])
