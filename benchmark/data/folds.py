"""Cross-validation: every patient of a small dataset is tested, by what was learned without him.

Patients are dealt into K parts, stratified by the rarest class of their recordings, anew for each seed and labelled
subset. Each part is tested by what is learned on the others, of whose patients every eighth is held out to choose
settings on (`TaskSpec.folds`). The predictions of all parts together are those of one cell: a seed has one score over
all patients, so that the tests of seeds and patients are those of a fixed split. Encoders see none of the patients:
a dataset that is cross-validated is not pretrained on.

What the parts share is the dataset itself. Folds that are drawn anew per seed put the choice of training patients into
the scatter of seeds; that another hospital has other patients altogether is in the resamples of the test patients, and
as with a fixed split not in the training side (Nadeau and Bengio 2003 correct for that where each split has a test of
its own; here all splits test the same patients).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark.data.prepare import Prepared
from benchmark.data.splits import SPLIT_SEED, Split, TaskSpec, split_or_none, strata_of, task_labels

HELD_OUT = 8
"""Of the patients who are not tested, every eighth is validated on."""


def is_cross_validated(prepared: Prepared, spec: TaskSpec) -> bool:
    """Whether every patient of a dataset is tested: where the spec asks for it and the dataset has no folds."""
    return spec.folds > 0 and all(entry.fold is None for entry in prepared.entries)


def tested_recordings(prepared: Prepared, spec: TaskSpec) -> NDArray[np.int64]:
    """Indices (R',) of the recordings that a cell tests: those of the test part, or all that have a label."""
    if not is_cross_validated(prepared, spec):
        return split_or_none(prepared, spec)[0].test
    return np.flatnonzero([bool(labels) for labels in _classes(prepared, spec)])


def split_part(prepared: Prepared, spec: TaskSpec, part: int, seed: int) -> Split:
    """The split whose test side is one of the `spec.folds` parts that a seed deals."""
    classes = _classes(prepared, spec)
    usable = tested_recordings(prepared, spec).tolist()
    strata, recordings = strata_of(prepared.entries, classes, usable)
    random = np.random.default_rng([SPLIT_SEED, seed])
    patients = [own[place] for _, own in sorted(strata.items()) for place in random.permutation(len(own))]
    rest = [patient for place, patient in enumerate(patients) if place % spec.folds != part]
    sides = (
        [patient for place, patient in enumerate(rest) if place % HELD_OUT],
        rest[::HELD_OUT],
        patients[part :: spec.folds],
    )
    train, validation, test = (
        np.array(sorted(index for patient in side for index in recordings[patient]), np.int64) for side in sides
    )
    return Split(train, validation, test, {})


def _classes(prepared: Prepared, spec: TaskSpec) -> list[tuple[int, ...]]:
    """The classes that each recording counts for."""
    counted = prepared.first_label_counts
    return [task_labels(entry.labels, spec, first_label_counts=counted) for entry in prepared.entries]
