"""A column: a prepared dataset under a task, with what follows from both, computed once.

Audit, corpus, tasks, coverage, plan and report read here which classes a recording counts for, and on which side it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from benchmark.data.datasets.base import ALWAYS_TESTED, NO_FOLD, ClassIndices
from benchmark.data.prepare import Prepared
from benchmark.data.splits import (
    HELD_OUT,
    SIDE_OF_FOLD,
    SPLIT_SEED,
    TEST_SHARE,
    VALIDATION_SHARE,
    Dealing,
    Label,
    Part,
    Split,
    TaskSpec,
    by_rarest,
    labels_by_patient,
    split_into,
    split_recordings,
)
from benchmark.data.trials import Trials, scale_of, trials_of
from benchmark.results.arrays import Bools, Ints

SEVERAL_LABELS, NO_LABEL = "several labels", "no label"
"""Why a recording is on no side of a split; the first of a single-label task."""


@dataclass(frozen=True, eq=False)
class Column:
    """A dataset under a task. R usable recordings, C classes."""

    data: Prepared
    """The recordings, with the labels of the task."""
    spec: TaskSpec

    def counted(self, labels: ClassIndices) -> ClassIndices:
        """Return the classes that a recording with these labels counts for; none if the task excludes it.

        `multi`: all its labels. `single`: its only label, or the first under `paper` in a dataset whose first label
        counts.
        """
        if self.spec.labels == "multi":
            return labels
        if self.data.first_label_counts and self.spec.protocol == "paper":
            return labels[:1]
        return labels if len(labels) == 1 else ()

    @cached_property
    def labels(self) -> list[ClassIndices | None]:
        """Classes that each recording counts for; None for a recording on no side of a split.

        A multi-label task has recordings without a class, whose dataset denies each.
        """
        denied = () if self.spec.labels == "multi" else None
        recordings = self.data.recordings
        stated = zip(recordings.labels, recordings.is_negative.tolist(), strict=True)
        return [self.counted(labels) or (denied if is_negative else None) for labels, is_negative in stated]

    @cached_property
    def is_labelled(self) -> Bools:
        """(R,) whether a recording may be on a side of a split."""
        return np.array([labels is not None for labels in self.labels], bool)

    @cached_property
    def target(self) -> Ints:
        """(R, C) multi-hot, one-hot for a single-label task; zeros where a recording is on no side of a split."""
        target = np.zeros((len(self.labels), len(self.data.classes)), np.int64)
        for row, labels in zip(target, self.labels, strict=True):
            row[list(labels or ())] = 1
        return target

    @cached_property
    def split(self) -> Split:
        """Recordings of each side; of a cross-validation, those of its one split."""
        return split_recordings(self.data.recordings, self.labels, self.spec)

    @property
    def trials(self) -> Trials:
        """Pseudo-trials, as the windows were kept; mapped at each use, since a damaged file is made again."""
        return trials_of(self.data, self.spec.per_trial)

    def scaled_trials(self, recordings: Ints) -> Trials:
        """Return the pseudo-trials, standardised by some recordings where the task asks for that."""
        if self.spec.standardise != "dataset":
            return self.trials
        return replace(self.trials, scale=scale_of(self.data, recordings))

    @cached_property
    def official_folds(self) -> set[int]:
        """Folds that the dataset states."""
        return {*self.data.recordings.fold.tolist()} - {NO_FOLD, ALWAYS_TESTED}

    @cached_property
    def is_cross_validated(self) -> bool:
        """Tell whether every patient is tested: the spec asks for it and the dataset has no folds."""
        return self.spec.folds > 0 and bool((self.data.recordings.fold == NO_FOLD).all())

    @cached_property
    def tested(self) -> Ints:
        """(R',) numbers of the recordings that a cell tests: the test side, or all that have a label."""
        if not self.is_cross_validated:
            return self.split.test
        return np.flatnonzero(self.is_labelled)

    @cached_property
    def division(self) -> str:
        """Words on the division into training, validation and test parts, for a methods section."""
        if self.official_folds:
            return "by the folds that the dataset states"
        if self.is_cross_validated:
            return (
                f"into {self.spec.folds} parts of patients, each tested by what is learned on the others, of whose "
                f"patients one in {HELD_OUT} validates"
            )
        if self.spec.sides == "shuffled":
            shares = f"{100 * TEST_SHARE:g} % for testing and {100 * VALIDATION_SHARE:g} % of the rest for validation"
            return f"at random, {shares}"
        if self.spec.protocol == "paper":
            return "by class in the order of names, the last tenth for testing and the tenth before it for validation"
        return "by patient within each class at random, a tenth for testing and a tenth for validation"

    def split_of_part(self, part: Part) -> Split:
        """Return the split whose test side is one part of a cross-validation."""
        side_of = part.dealing.sides(part.number)
        sides: list[list[int]] = [[], [], []]
        for index in self.tested.tolist():
            sides[side_of[self.data.recordings.patient[index]]].append(index)
        return split_into(sides)

    @cached_property
    def left_out(self) -> dict[str, int]:
        """Numbers of the usable recordings that are neither learned from nor scored, by the reason; no zeros."""
        pairs = zip(self.data.recordings.labels, self.labels, strict=True)
        reasons = [SEVERAL_LABELS if labels else NO_LABEL for labels, used in pairs if used is None]
        return {reason: reasons.count(reason) for reason in (SEVERAL_LABELS, NO_LABEL) if reason in reasons}

    def remedy(self, empty: Sequence[int] = ()) -> str:
        """Say why classes or sides, by their numbers in `Split`, have no recording, and what may help."""
        recordings = self.data.recordings
        folds = self.official_folds
        if folds and {*empty} - {SIDE_OF_FOLD.get(fold, 0) for fold in folds}:
            return (
                "the split that the dataset states (the column of `table.split` in a card) has no usable recording "
                "there; name some, or leave the split out, and one is drawn"
            )
        if several := self.left_out.get(SEVERAL_LABELS):
            return f"--labels multi counts the {several} recordings with several labels"
        if not any(recordings.labels):
            return f"none of the {len(recordings)} usable recordings has a label"
        if folds and empty:
            return "the recordings that the dataset's split has there are without a label"
        return "the dataset is too small"

    def problem(self, split: Split, *, is_scored: bool = True) -> str | None:
        """Say why a split cannot be used: a side is empty or, where it is scored, too few classes are; else None.

        A class can be scored that has a training and a test recording; of a multi-label task also a test recording
        without it. A multi-label task needs one such class, a single-label task two.
        """
        recordings = self.data.recordings
        is_split = self.is_labelled & (recordings.fold != ALWAYS_TESTED)  # (R,)
        without = np.flatnonzero(is_split & (recordings.fold == NO_FOLD))
        if 0 < len(without) < is_split.sum():
            return f"recording {recordings.recording[without[-1]]} has no official fold, others of its dataset have"
        sizes = {name: len(recordings) for name, recordings in split.titled().items()}
        if empty := [name for name, size in sizes.items() if not size]:
            counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
            remedy = self.remedy([number for number, side in enumerate(split) if not len(side)])
            return f"no labelled recording for {' and '.join(empty)} ({counts}): {remedy}"
        is_multi = self.spec.labels == "multi"
        trained = self.target[split.train].sum(axis=0)  # (C,)
        tested = self.target[split.test].sum(axis=0)  # (C,)
        scored = (trained > 0) & (tested > 0) & ((tested < len(split.test)) | (not is_multi))  # (C,)
        if not is_scored or scored.sum() >= (1 if is_multi else 2):
            return None
        of_class = zip(self.data.classes, trained, tested, strict=True)
        counts = ", ".join(f"{name} {train}/{test}" for name, train, test in of_class)
        fewer = f"fewer than {'one class' if is_multi else 'two classes'} can be scored"
        return f"{fewer}; recordings for training/test: {counts}: {self.remedy()}"

    def coverage(self) -> dict[str, dict[str, Any]]:
        """Count the patients of each class, in the order of the classes, whatever the split.

        `patients`: those with a recording of the class; `unscored`: those of whom none can be scored -> the first
        reason.
        """
        data, per_trial = self.data, self.spec.per_trial
        too_few = f"fewer than {per_trial} {data.segmentation.unit_name}s"
        why = ["" if count else too_few for count in data.trials_of_each(per_trial).tolist()]
        why += [reason.partition(":")[0] for reason in data.skipped.reason]
        reasons: list[dict[str, str]] = [{} for _ in data.classes]  # patient -> first reason, '' if scored
        recordings = zip(why, data.listed.patient, data.listed.labels, strict=True)
        for reason, patient, labels in sorted(recordings, key=lambda recording: bool(recording[0])):
            for label in self.counted(labels):
                reasons[label].setdefault(patient, reason)
        counts = {}
        for name, of_class in zip(data.classes, reasons, strict=True):
            unscored = {patient: reason for patient, reason in of_class.items() if reason}
            counts[name] = {"patients": len(of_class), "unscored": unscored}
        return counts


@lru_cache(maxsize=32)
def column_of(data: Prepared, spec: TaskSpec) -> Column:
    """Return a prepared dataset under a task, the same column for the same data and spec."""
    return Column(data, spec)


def dealing_of(columns: Sequence[Column], seed: int) -> Dealing:
    """Deal the patients of one or several columns, stratified by each patient's rarest class; equal names are one.

    Columns that share encoders are dealt together, so that nobody whom one of them tests is learned from in another.
    """
    labels_of: dict[str, set[Label]] = {}
    for number, column in enumerate(columns):
        patients = [*column.data.recordings.patient]
        of_column = labels_by_patient(patients, column.labels, column.tested.tolist(), number)
        for patient, labels in of_column.items():
            labels_of.setdefault(patient, set()).update(labels)
    random = np.random.default_rng([SPLIT_SEED, seed])
    dealt = []
    for stratum in by_rarest(labels_of):
        dealt += [stratum[position] for position in random.permutation(len(stratum))]
    return Dealing(tuple(dealt), columns[0].spec.folds)
