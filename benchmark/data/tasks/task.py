"""Prepared recordings -> the corpus of a pretraining or the task of a cell, on the device.

A window is a heartbeat, a plain window or a crop, as the dataset was cut. A cell's task is the labelled subset of the
training windows, and all validation and test windows; the test windows are the same for all methods, ratios and seeds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.prepared.lead_sets import without_absent
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.scale import scale_of
from benchmark.data.prepared.trials import Trials, trials
from benchmark.data.readers.base import LEADS, DatasetError, Entry
from benchmark.data.tasks.pairs import LARGE, PairSource
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import (
    LabelledSubset,
    Split,
    labelled_subset,
    lacking,
    split_recordings,
    target_matrix,
)
from benchmark.data.tasks.text import embed_reports, has_text
from benchmark.results.keys import digest
from benchmark.results.names import UNIT_OF_PROTOCOL, Pool

FIRST_PATIENT = 1
"""Number of the first patient, as by the PMQ authors: their queue marks its empty slots with patient 0."""


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


def split_of(prepared: Prepared, spec: TaskSpec) -> Split:
    """Training, validation and test recordings of a prepared, labelled dataset. Raises as `split_recordings`."""
    return split_recordings(prepared.entries, spec, first_label_counts=prepared.first_label_counts)


def split_or_none(prepared: Prepared, spec: TaskSpec) -> tuple[Split, str | None]:
    """The split, and its problem or None; all sides are empty if the dataset cannot be split."""
    try:
        split = split_of(prepared, spec)
    except DatasetError as problem:
        nobody = np.empty(0, np.int64)
        return Split(nobody, nobody, nobody, {}), str(problem)
    return split, lacking(split)


def corpus_trials(prepared: Prepared, spec: TaskSpec) -> NDArray[np.int64]:
    """Numbers of the pseudo-trials to pretrain on: all of a corpus without labels, else those of its training part."""
    recording = trials(prepared, spec.per_trial).recording  # (T,)
    if not prepared.classes:
        return np.arange(len(recording))
    return np.flatnonzero(np.isin(recording, split_of(prepared, spec).train))


def pretrained_entries(prepared: Prepared, spec: TaskSpec) -> list[Entry]:
    """The recordings that are pretrained on, as in `corpus_trials`, without making the pseudo-trials."""
    whole = np.flatnonzero(prepared.trials_of_each(spec.per_trial))  # (R',)
    if prepared.classes:
        whole = np.intersect1d(whole, split_or_none(prepared, spec)[0].train)
    return [prepared.entries[r] for r in whole]


def pretraining_source(
    prepared: Prepared, spec: TaskSpec, device: torch.device, text_embedder: str | None = None
) -> PairSource:
    """The pretraining corpus on the device; with an embedder, the recordings that have a report, and its embedding.

    Raises DatasetError if no recording is usable.
    """
    chosen, per_trial = corpus_trials(prepared, spec), spec.per_trial  # (T,)
    if not len(chosen):
        raise DatasetError(
            f"{prepared.title}: no recording to pretrain on has the {per_trial} {prepared.segmentation.word}s of a "
            "pseudo-trial"
        )
    all_trials = trials(prepared, per_trial)
    text, without_text = None, 0
    if text_embedder is not None:
        every = np.unique(all_trials.recording[chosen])  # (R,)
        told = np.array([r for r in every if has_text(prepared.entries[r].report)], np.int64)  # (R',)
        if not len(told):
            raise DatasetError(
                f"{prepared.title}: no recording has a report; leave out the methods that learn from text"
            )
        chosen, without_text = chosen[np.isin(all_trials.recording[chosen], told)], len(every) - len(told)
        reports = [prepared.entries[r].report for r in told]
        vectors = embed_reports(reports, text_embedder, cache=prepared.folder, device=device)  # (R', E)
        text = torch.from_numpy(vectors[np.searchsorted(told, all_trials.recording[chosen])]).to(device)  # (T, E)
    all_trials = scaled(all_trials, prepared, spec, np.unique(all_trials.recording[chosen]))
    signal = torch.from_numpy(all_trials.take(chosen))  # (T, P * S, L)
    return PairSource(
        signal=signal.view(len(chosen), per_trial, prepared.segmentation.samples, -1).to(device),
        recording=torch.from_numpy(all_trials.recording[chosen]).to(device),
        patient=torch.from_numpy(all_trials.patient[chosen] + FIRST_PATIENT).to(device),
        text=text,
        recordings_without_text=without_text,
        anywhere=prepared.segmentation.anywhere,
        scale=all_trials.scale,
    )


def scaled(all_trials: Trials, prepared: Prepared, spec: TaskSpec, recordings: NDArray[np.int64]) -> Trials:
    """The pseudo-trials, standardised by mean and deviation of some recordings where the task asks for that."""
    if spec.standardise != "dataset":
        return all_trials
    return replace(all_trials, scale=scale_of(prepared, recordings))


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
    validation: Windows
    test: Windows
    empty: tuple[str, ...]
    """Which sides have no window, and why."""
    device: torch.device


Draw = Callable[[Sides, float, int], LabelledSubset]
"""(sides, label ratio or shots, seed) -> the labelled training windows."""


def sides_for_tasks(prepared: Prepared, spec: TaskSpec, *, device: torch.device, tested: bool = True) -> Sides:
    """The sides of a dataset's tasks. One without a usable recording is empty, as are all if it cannot be split.

    tested: False leaves the test side empty without reading a window of it.
    """
    per_trial = spec.per_trial
    all_trials = trials(prepared, per_trial)
    split, problem = split_or_none(prepared, spec)
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

    def windows(trial: NDArray[np.int64]) -> Windows:
        return _windows(prepared, all_trials, target, _all_windows(trial, per_trial), spec, device)

    return Sides(
        prepared,
        spec,
        all_trials,
        target,
        train=sides["train"],
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


def drawn_by_protocol(sides: Sides, ratio: float, seed: int) -> LabelledSubset:
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
    )


def task_on(sides: Sides, *, ratio: float, seed: int, draw: Draw = drawn_by_protocol) -> Task:
    """The task with the labelled training windows that `draw` chooses for a ratio and a seed.

    The notes name empty sides and classes without a labelled window.
    """
    prepared, spec, all_trials = sides.prepared, sides.spec, sides.trials
    subset = draw(sides, ratio, seed) if len(sides.train) else LabelledSubset(np.empty(0, np.int64), ())
    labelled, crops = subset.windows, None  # (n,)
    if prepared.segmentation.kind == "recordings":
        recordings = np.unique(all_trials.recording[labelled])  # (M,)
        labelled = np.flatnonzero(np.isin(all_trials.recording, recordings))  # (n,) all crops of each
        crops = _crops(prepared, all_trials, sides.target, recordings, spec, sides.device)
    return Task(
        train=_windows(prepared, all_trials, sides.target, labelled, spec, sides.device),
        validation=sides.validation,
        test=sides.test,
        multi=spec.labels == "multi",
        unit=UNIT_OF_PROTOCOL[spec.protocol],
        notes=[*sides.empty, *subset.notes],
        unscored="; ".join(filter(None, [*sides.empty, subset.problem])),
        pool=spec.pool,
        crops=crops,
    )


def _all_windows(trial: NDArray[np.int64], per_trial: int) -> NDArray[np.int64]:
    """Window numbers of whole pseudo-trials."""
    return np.asarray((trial[:, None] * per_trial + np.arange(per_trial)).ravel(), np.int64)


def _windows(
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


def _crops(
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
