"""Prepared recordings -> the task of a cell, on the device.

A window is a heartbeat, a plain window or a crop, as the dataset was cut. A cell's task is the labelled subset of the
training windows, and all validation and test windows; the test windows are the same for all methods, ratios and seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import Trials, trials
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.split import (
    LabelledSubset,
    labelled_subset,
    split_or_none,
    target_matrix,
)
from benchmark.data.tasks.windows import Crops, Windows, crops_of, scaled, windows_of
from benchmark.results.keys import digest
from benchmark.results.names import UNIT_OF_PROTOCOL, Pool


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
        return windows_of(prepared, all_trials, target, _all_windows(trial, per_trial), spec, device)

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
        crops = crops_of(prepared, all_trials, sides.target, recordings, spec, sides.device)
    return Task(
        train=windows_of(prepared, all_trials, sides.target, labelled, spec, sides.device),
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
