"""The rules by which recordings are split into sides, patients are dealt into parts, and labelled subsets are drawn.

Splits: official folds where the dataset has them; else `paper`, the authors' last 10 % of each class for testing and
the 10 % before for validation, in name order; or `strict`, patients drawn with a fixed seed, stratified by class. Named
tasks without folds have MERL's shares, shuffled once. In a cross-validation (`TaskSpec.folds`) patients are dealt into
K parts, stratified by class, anew for each seed and labelled subset. Each part is tested by what is learned on the
others, of whose patients one in eight is used for validation. Columns that are pretrained on as well are dealt
together, by the seed alone (`benchmark.run.crossfit`). Folds and names may put a patient on two sides, which a run
refuses (`benchmark.data.audit`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from benchmark.data.datasets.base import ALWAYS_TESTED, LEADS, NO_FOLD, ClassIndices, SplitBy, grouped
from benchmark.data.recordings import RecordingTable
from benchmark.results.arrays import Ints
from benchmark.results.names import Pool

Labels = Literal["single", "multi"]
Protocol = Literal["paper", "strict"]
Standardise = Literal["recording", "dataset", "none"]
"""recording: z-score per recording and lead; dataset: one mean and deviation; none: mV."""
ValidationLabels = Literal["share", "whole"]
VALIDATION_LABELS: dict[Protocol, ValidationLabels] = {"paper": "whole", "strict": "share"}
"""Default of each protocol."""


@dataclass(frozen=True)
class TaskSpec:
    """Task settings independent of dataset, label ratio and seed."""

    per_trial: int
    """Heartbeats or crops per pseudo-trial."""
    labels: Labels
    """One class per recording, or several at once."""
    protocol: Protocol
    """Splits and labelled subsets as in the paper, or by patient."""
    standardise: Standardise = "recording"
    """recording: as the windows were kept; dataset: by mean and deviation of the training part, or of the corpus."""
    leads: tuple[str, ...] = LEADS
    """The leads that there are; the others are zero."""
    pool: Pool = "mean"
    """Vote of the windows of a recording."""
    sides: SplitBy = "protocol"
    validation_labels: ValidationLabels = "whole"
    """Validation patients whose labels choose settings: all, or the share that is labelled for training too."""
    folds: int = 0
    """Parts of a cross-validation of a dataset without official folds; 0: one split."""

    def content(self) -> dict[str, Any]:
        """Return what determines sides, labels and windows of a task, for a result's key."""
        content = {"version": SPLIT_VERSION, **asdict(self)}
        if not self.folds:
            del content["folds"]
        return content

    def dividing(self) -> dict[str, Any]:
        """Return what determines the sides of a dataset's recordings, beside the dataset."""
        settings = {name: getattr(self, name) for name in ("labels", "protocol", "sides", "folds")}
        return {"version": SPLIT_VERSION, **settings}


SPLIT_VERSION = 2
"""Results version: raised with any change that can move a split or a labelled subset."""
SPLIT_SEED = 42
"""Seed of the strict split, and of the paper protocol's one shuffle of training pseudo-trials (the authors' value)."""
VALIDATION_FOLD, TEST_FOLD = 9, 10
SIDE_OF_FOLD = {VALIDATION_FOLD: 1, TEST_FOLD: 2}
"""Number of the side in `Split`; other folds, 1 to 8, are trained on, as PTB-XL's authors recommend."""
TEST_SHARE, VALIDATION_SHARE = 0.2, 0.1
"""Share of all recordings, and of those that are not tested, in a shuffled split."""
NO_CLASS = 1 << 16
"""Stands for a class of recordings that have none; the last of the strata."""
HELD_OUT = 8
"""One patient in eight of those whom a part of a cross-validation does not test is used for validation."""


Label = tuple[int, int]
"""Number of a column, and index of a class there."""


class Split(NamedTuple):
    """Numbers of the recordings on each side, ascending."""

    train: Ints
    validation: Ints
    test: Ints

    def titled(self) -> dict[str, Ints]:
        """Return 'training', 'validation' and 'test' -> numbers of the recordings there."""
        return {"training": self.train, "validation": self.validation, "test": self.test}


def split_into(sides: Sequence[list[int]]) -> Split:
    """Return the split of three lists of recordings."""
    return Split(*(np.array(sorted(side), np.int64) for side in sides))


def split_recordings(recordings: RecordingTable, labels: Sequence[ClassIndices | None], spec: TaskSpec) -> Split:
    """Split the recordings of a dataset; a side may be empty, and all are where only some have an official fold.

    labels: the classes that each recording counts for; None for one on no side.
    """
    labelled = [index for index, classes in enumerate(labels) if classes is not None]
    fold_of = recordings.fold.tolist()
    usable = [index for index in labelled if fold_of[index] != ALWAYS_TESTED]
    by_name = sorted(usable, key=[*recordings.recording].__getitem__)
    folds = {fold_of[index] for index in usable}
    if folds - {NO_FOLD}:
        sides: list[list[int]] = [[], [], []]
        for index in usable if NO_FOLD not in folds else ():
            sides[SIDE_OF_FOLD.get(fold_of[index], 0)].append(index)
    elif spec.sides == "shuffled":
        sides = _shuffled(by_name)
    elif spec.protocol == "paper":
        first = {index: (labels[index] or (NO_CLASS,))[0] for index in by_name}
        of_class = grouped((first[index], [index]) for index in by_name)  # the authors' order in each first class
        sides = _last_tenths(of_class.values())
    else:
        sides = _last_tenths(_drawn_patients([*recordings.patient], labels, usable))
    tested_too = [index for index in labelled if fold_of[index] == ALWAYS_TESTED]
    return split_into((sides[0], sides[1], [*sides[2], *tested_too]))


def _drawn_patients(
    patient: Sequence[str], labels: Sequence[ClassIndices | None], usable: Sequence[int]
) -> list[list[list[int]]]:
    """Group the recordings by patient, the patients of each class in a random order."""
    random = np.random.default_rng(SPLIT_SEED)
    recordings = grouped((patient[index], index) for index in usable)
    groups = []
    for patients in by_rarest(labels_by_patient(patient, labels, usable)):
        order = random.permutation(len(patients))
        groups.append([recordings[patients[position]] for position in order])
    return groups


def _shuffled(rest: list[int]) -> list[list[int]]:
    """Split into MERL's shares, at random."""
    from sklearn.model_selection import train_test_split  # here, because it loads slowly

    if len(rest) < 3:
        return [rest, [], []]
    rest, test = train_test_split(rest, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    return [*train_test_split(rest, test_size=VALIDATION_SHARE, random_state=SPLIT_SEED), test]


def labels_by_patient(
    patient: Sequence[str], labels: Sequence[ClassIndices | None], recordings: Iterable[int], column: int = 0
) -> dict[str, set[Label]]:
    """Collect the labels of each patient of some recordings, by the patient of every recording."""
    labels_of: dict[str, set[Label]] = {}
    for index in recordings:
        of_patient = labels_of.setdefault(patient[index], set())
        of_patient.update((column, label) for label in labels[index] or ())
    return labels_of


def by_rarest(labels_of: Mapping[str, set[Label]]) -> list[list[str]]:
    """Group patients, in name order, by the rarest of their labels; those without one are the last group."""
    patients_with = Counter(label for labels in labels_of.values() for label in labels)
    strata = grouped(
        (min(labels, key=lambda label: (patients_with[label], label), default=(NO_CLASS, 0)), patient)
        for patient, labels in sorted(labels_of.items())
    )
    return [patients for _, patients in sorted(strata.items())]


def _last_tenths(groups: Iterable[list[list[int]]]) -> list[list[int]]:
    """Hold out the last rint(10 %) of each group for testing, and as many before them for validation."""
    sides: list[list[int]] = [[], [], []]
    for members in groups:
        tenth = int(np.rint(0.1 * len(members)))
        begin = len(members) - 2 * tenth
        end = len(members) - tenth
        for side, part in zip(sides, (members[:begin], members[begin:end], members[end:]), strict=True):
            side += chain(*part)
    return sides


@dataclass(frozen=True)
class Dealing:
    """Patients in the order in which a seed has dealt them into the parts of a cross-validation."""

    patients: tuple[str, ...]
    parts: int

    def sides(self, part: int) -> dict[str, int]:
        """Return the side of each patient, by its number in `Split`, where one of the parts is tested."""
        rest = [patient for position, patient in enumerate(self.patients) if position % self.parts != part]
        tested = self.patients[part :: self.parts]
        return dict.fromkeys(rest, 0) | dict.fromkeys(rest[::HELD_OUT], 1) | dict.fromkeys(tested, 2)


class Part(NamedTuple):
    """One part of a cross-validation."""

    dealing: Dealing
    number: int


def labelled_subset(
    trial: Ints,
    patient: Ints,
    target: Ints,
    ratio: float,
    spec: TaskSpec,
    *,
    seed: int,
    subset: int = 0,
    fewest: int = 1,
) -> Ints:
    """Draw the labelled share of N pseudo-trials of one side: their numbers (N,), patients (N,) and targets (N, C).

    `paper`: pseudo-trials shuffled by `RandomState(42)` or, for a further subset k, (42, k), whatever the seed; the
    first int(windows * ratio) windows count, at least one. `strict`: the first int(patients * ratio) patients count, at
    least `fewest`, in an order drawn from the seed that begins with one patient per class.

    Returns window numbers (n,), pseudo-trial * per_trial + beat; a smaller ratio's are the first of a larger one's.
    """
    per_trial, size = spec.per_trial, None
    if spec.protocol == "paper":
        shuffle = np.random.RandomState([SPLIT_SEED, subset] if subset else SPLIT_SEED)
        order = shuffle.permutation(len(trial))  # (N,)
        size = max(1, int(len(trial) * per_trial * ratio))
    else:
        patients = _patient_order(patient, target, np.random.default_rng(seed))
        chosen = patients[: max(fewest, int(len(patients) * ratio))]
        by_patient = np.argsort(patient, kind="stable")  # (N,)
        ends = [np.searchsorted(patient, chosen, side, sorter=by_patient) for side in ("left", "right")]
        order = np.concatenate([by_patient[begin:end] for begin, end in zip(*ends, strict=True)])  # (n,)
    return (trial[order, None] * per_trial + np.arange(per_trial)).ravel()[:size]  # (n * beats,)


def _patient_order(patient: Ints, target: Ints, random: Generator) -> list[np.int64]:
    """Order the patients at random after one of each class, the classes at random too."""
    shuffled = list(random.permutation(np.unique(patient)))
    first: dict[np.int64, None] = {}
    for label in random.permutation(target.shape[1]):
        having = set(patient[target[:, label] == 1])
        if having and having.isdisjoint(first):
            first[next(name for name in shuffled if name in having)] = None
    return [*first, *(name for name in shuffled if name not in first)]
