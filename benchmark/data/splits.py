"""The tasks of the datasets: their labels, training, validation and test recordings, and labelled subsets.

Splits: official folds where the dataset has them; else `paper`, the authors' last 10 % of each class for testing and
the 10 % before for validation, in name order; or `strict`, patients drawn with a fixed seed, stratified by class. Named
tasks without folds have MERL's shares, shuffled once. In a cross-validation (`TaskSpec.folds`) patients are dealt into
K parts, stratified by class, anew for each seed and labelled subset; each part is tested by what is learned on the
others, of whose patients every eighth is validated on. Columns that are pretrained on as well are dealt together, by
the seed alone (`benchmark.run.crossfit`). Folds and names may put a patient on two sides, which a run
refuses (`benchmark.data.audit`). A named task is the same recordings under other labels: PTB-XL's six (Strodthoff et
al. 2021, JBHI 25:1519), and those of Chapman, Ningbo and CPSC2018 by MERL (Liu et al. 2024, ICML).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmark.data.datasets.base import ALWAYS_TESTED, LEADS, Entry, grouped
from benchmark.data.datasets.chapman import CLASSES as CONDITIONS
from benchmark.data.datasets.chapman import CONDITION_OF_STATEMENT
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.ptb_xl import PTB_XL_TASKS, class_of_code
from benchmark.data.prepare import Prepared, Skipped, made_at, open_prepared
from benchmark.results.arrays import Ints
from benchmark.results.files import digest
from benchmark.results.names import AT, DEFAULT_TASK, Pool

Labels = Literal["single", "multi"]
Protocol = Literal["paper", "strict"]
Standardise = Literal["recording", "dataset", "none"]
"""recording: z-score per recording and lead; dataset: one mean and deviation; none: mV."""
ValidationLabels = Literal["share", "whole"]
VALIDATION_LABELS: dict[Protocol, ValidationLabels] = {"paper": "whole", "strict": "share"}
"""Default of each protocol."""
SplitBy = Literal["protocol", "shuffled"]
"""How recordings without official folds are split."""


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
    """How the windows of a recording vote."""
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
        return {
            "version": SPLIT_VERSION,
            "labels": self.labels,
            "protocol": self.protocol,
            "sides": self.sides,
            "folds": self.folds,
        }


SPLIT_VERSION = 2
"""Results version: raised with any change that can move a split or a labelled subset."""
SPLIT_SEED = 42
"""Seed of the strict split, and of the paper protocol's one shuffle of training pseudo-trials (the authors' value)."""
VALIDATION_FOLD, TEST_FOLD = 9, 10
SIDE_OF_FOLD = {VALIDATION_FOLD: 1, TEST_FOLD: 2}
"""Number of the side in `Split`; other folds, 1 to 8, are trained on, as PTB-XL's authors recommend."""
TEST_SHARE, VALIDATION_SHARE = 0.2, 0.1
"""Share of all recordings, and of those that are not tested, in a shuffled split."""
SEVERAL_LABELS, NO_LABEL = "several labels", "no label"
"""Why a recording is on no side of a split; the first of a single-label task."""
NO_CLASS = 1 << 16
"""Stands for a class of recordings that have none; the last of the strata."""
HELD_OUT = 8
"""One patient in eight of those whom a part of a cross-validation does not test is used for validation."""


Label = tuple[int, int]
"""Number of a column, and index of a class there."""


class Split(NamedTuple):
    """Indices into the entries that were split, each ascending."""

    train: Ints
    validation: Ints
    test: Ints


def task_labels(prepared: Prepared, spec: TaskSpec, labels: tuple[int, ...]) -> tuple[int, ...]:
    """Return the classes that a recording with these labels counts for; none if the task excludes it.

    `multi`: all its labels. `single`: its only label, or the first under `paper` in a dataset whose first label counts.
    """
    if spec.labels == "multi":
        return labels
    if prepared.first_label_counts and spec.protocol == "paper":
        return labels[:1]
    return labels if len(labels) == 1 else ()


def labels_under(prepared: Prepared, spec: TaskSpec) -> list[tuple[int, ...] | None]:
    """Return the classes that each recording counts for; None for a recording on no side of a split.

    A multi-label task has recordings without a class, whose dataset denies each.
    """
    labels: list[tuple[int, ...] | None] = []
    for entry in prepared.entries:
        is_negative = spec.labels == "multi" and entry.is_negative
        labels.append(task_labels(prepared, spec, entry.labels) or (() if is_negative else None))
    return labels


def target_of(prepared: Prepared, spec: TaskSpec) -> Ints:
    """Return (R, C) multi-hot, one-hot for a single-label task; zeros where a recording is on no side of a split."""
    target = np.zeros((len(prepared.entries), len(prepared.classes)), np.int64)
    for row, labels in zip(target, labels_under(prepared, spec), strict=True):
        row[list(labels or ())] = 1
    return target


def split_of(prepared: Prepared, spec: TaskSpec) -> Split:
    """Split the recordings of a labelled dataset; a side may be empty, and all are without a rule (`problem_of`)."""
    entries, classes = prepared.entries, labels_under(prepared, spec)
    labelled = [index for index, labels in enumerate(classes) if labels is not None]
    usable = [index for index in labelled if entries[index].fold != ALWAYS_TESTED]
    by_name = sorted(usable, key=lambda index: entries[index].recording)
    folds = {entries[index].fold for index in usable}
    if folds - {None}:
        side_of = [SIDE_OF_FOLD.get(entry.fold or 0, 0) for entry in entries]
        sides = [[index for index in usable if side_of[index] == side and None not in folds] for side in range(3)]
    elif spec.sides == "shuffled":
        sides = _shuffled(by_name)
    elif spec.protocol == "paper":
        first = {index: (classes[index] or (NO_CLASS,))[0] for index in by_name}
        of_class = grouped((first[index], [index]) for index in by_name)  # the authors' order in each first class
        sides = _last_tenths(of_class.values())
    else:
        random = np.random.default_rng(SPLIT_SEED)
        recordings = grouped((entries[index].patient, index) for index in usable)
        strata = _by_rarest(_labels_of(prepared, spec, usable))
        shuffled = [[stratum[i] for i in random.permutation(len(stratum))] for stratum in strata]
        sides = _last_tenths([recordings[patient] for patient in patients] for patients in shuffled)
    tested_too = [index for index in labelled if entries[index].fold == ALWAYS_TESTED]
    return _split((sides[0], sides[1], [*sides[2], *tested_too]))


def _split(sides: Sequence[list[int]]) -> Split:
    return Split(*(np.array(sorted(side), np.int64) for side in sides))


def _shuffled(rest: list[int]) -> list[list[int]]:
    """MERL's shares."""
    from sklearn.model_selection import train_test_split  # here, because it loads slowly

    if len(rest) < 3:
        return [rest, [], []]
    rest, test = train_test_split(rest, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    return [*train_test_split(rest, test_size=VALIDATION_SHARE, random_state=SPLIT_SEED), test]


def _labels_of(prepared: Prepared, spec: TaskSpec, recordings: Iterable[int], column: int = 0) -> dict[str, set[Label]]:
    """Return the labels of each patient of some recordings."""
    classes = labels_under(prepared, spec)
    labels_of: dict[str, set[Label]] = {}
    for index in recordings:
        labels = {(column, label) for label in classes[index] or ()}
        labels_of.setdefault(prepared.entries[index].patient, set()).update(labels)
    return labels_of


def _by_rarest(labels_of: Mapping[str, set[Label]]) -> list[list[str]]:
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
        begin, end = len(members) - 2 * tenth, len(members) - tenth
        for side, part in zip(sides, (members[:begin], members[begin:end], members[end:]), strict=True):
            side += chain(*part)
    return sides


def is_cross_validated(prepared: Prepared, spec: TaskSpec) -> bool:
    """Tell whether every patient of a dataset is tested: where the spec asks for it and the dataset has no folds."""
    return spec.folds > 0 and all(entry.fold is None for entry in prepared.entries)


def tested_recordings(prepared: Prepared, spec: TaskSpec) -> Ints:
    """Return the numbers (R',) of the recordings that a cell tests: the test part, or all that have a label."""
    if not is_cross_validated(prepared, spec):
        return split_of(prepared, spec).test
    return np.flatnonzero([labels is not None for labels in labels_under(prepared, spec)])


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


def dealing_of(columns: Sequence[tuple[Prepared, TaskSpec]], seed: int) -> Dealing:
    """Deal the patients of one or several columns, stratified by each patient's rarest class; equal names are one.

    Columns that share encoders are dealt together, so that nobody whom one of them tests is learned from in another.
    """
    labels_of: dict[str, set[Label]] = {}
    for number, (prepared, spec) in enumerate(columns):
        for patient, labels in _labels_of(prepared, spec, tested_recordings(prepared, spec), number).items():
            labels_of.setdefault(patient, set()).update(labels)
    random = np.random.default_rng([SPLIT_SEED, seed])
    strata = _by_rarest(labels_of)
    dealt = [stratum[position] for stratum in strata for position in random.permutation(len(stratum))]
    return Dealing(tuple(dealt), columns[0][1].folds)


def split_part(prepared: Prepared, spec: TaskSpec, part: Part) -> Split:
    """Return the split of a column whose test side is one part of a cross-validation."""
    side_of = part.dealing.sides(part.number)
    sides: list[list[int]] = [[], [], []]
    for index in tested_recordings(prepared, spec).tolist():
        sides[side_of[prepared.entries[index].patient]].append(index)
    return _split(sides)


def sides_of(split: Split) -> dict[str, Ints]:
    """Return 'training', 'validation' and 'test' -> numbers of the recordings there."""
    return {"training": split.train, "validation": split.validation, "test": split.test}


def left_out(prepared: Prepared, spec: TaskSpec) -> dict[str, int]:
    """Count the usable recordings that a task neither learns from nor scores: reason -> number, without zeros."""
    pairs = zip(prepared.entries, labels_under(prepared, spec), strict=True)
    on_no_side = [entry for entry, labels in pairs if labels is None]
    unlabelled = sum(not entry.labels for entry in on_no_side)
    counts = {SEVERAL_LABELS: len(on_no_side) - unlabelled, NO_LABEL: unlabelled}
    return {reason: count for reason, count in counts.items() if count}


def remedy_of(prepared: Prepared, spec: TaskSpec, empty: Sequence[int] = ()) -> str:
    """Say why classes or sides, by their numbers in `Split`, have no recording, and what may help."""
    folds = {entry.fold for entry in prepared.entries} - {None, ALWAYS_TESTED}
    if folds and {*empty} - {SIDE_OF_FOLD.get(fold or 0, 0) for fold in folds}:
        return (
            "the split that the dataset states (the column of `table.split` in a card) has no usable recording there; "
            "name some, or leave the split out, and one is drawn"
        )
    if several := left_out(prepared, spec).get(SEVERAL_LABELS):
        return f"--labels multi counts the {several} recordings with several labels"
    if not any(entry.labels for entry in prepared.entries):
        return f"none of the {len(prepared.entries)} usable recordings has a label"
    if folds and empty:
        return "the recordings that the dataset's split has there are without a label"
    return "the dataset is too small"


def problem_of(prepared: Prepared, split: Split, spec: TaskSpec, *, is_scored: bool = True) -> str | None:
    """Say why a split cannot be used: a side is empty or, where it is scored, too few classes are; else None.

    A class can be scored that has a training and a test recording; of a multi-label task also a test recording without
    it. A multi-label task needs one such class, a single-label task two.
    """
    pairs = list(zip(prepared.entries, labels_under(prepared, spec), strict=True))
    usable = [entry for entry, labels in pairs if labels is not None and entry.fold != ALWAYS_TESTED]
    with_fold = {entry.fold is not None: entry for entry in usable}
    if len(with_fold) == 2:
        return f"recording {with_fold[False].recording} has no official fold, others of its dataset have"
    sizes = {name: len(indices) for name, indices in sides_of(split).items()}
    if empty := [name for name, size in sizes.items() if not size]:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        remedy = remedy_of(prepared, spec, [[*sizes].index(name) for name in empty])
        return f"no labelled recording for {' and '.join(empty)} ({counts}): {remedy}"
    target, is_multi = target_of(prepared, spec), spec.labels == "multi"  # (R, C)
    trained, tested = target[split.train].sum(axis=0), target[split.test].sum(axis=0)  # (C,), (C,)
    scored = (trained > 0) & (tested > 0) & ((tested < len(split.test)) | (not is_multi))  # (C,)
    if not is_scored or scored.sum() >= (1 if is_multi else 2):
        return None
    of_class = zip(prepared.classes, trained, tested, strict=True)
    counts = ", ".join(f"{name} {train}/{test}" for name, train, test in of_class)
    fewer = f"fewer than {'one class' if is_multi else 'two classes'} can be scored"
    return f"{fewer}; recordings for training/test: {counts}: {remedy_of(prepared, spec)}"


def labelled_subset(
    trial: Ints,
    patient: Ints,
    target: Ints,
    ratio: float,
    spec: TaskSpec,
    *,
    seed: int,
    fewest: int = 1,
) -> Ints:
    """Draw the labelled share of N pseudo-trials of one side: their numbers (N,), patients (N,) and targets (N, C).

    `paper`: pseudo-trials shuffled once, by `RandomState(42)` whatever the seed; the first int(windows * ratio) windows
    count, at least one. `strict`: the first int(patients * ratio) patients count, at least `fewest`, in an order drawn
    from the seed that begins with one patient per class.

    Returns window numbers (n,), pseudo-trial * per_trial + beat; a smaller ratio's are the first of a larger one's.
    """
    per_trial, size = spec.per_trial, None
    if spec.protocol == "paper":
        order = np.random.RandomState(SPLIT_SEED).permutation(len(trial))  # (N,)
        size = max(1, int(len(trial) * per_trial * ratio))
    else:
        patients = _patient_order(patient, target, np.random.default_rng(seed))
        chosen = patients[: max(fewest, int(len(patients) * ratio))]
        order = np.concatenate([np.flatnonzero(patient == name) for name in chosen])  # (n,)
    return (trial[order, None] * per_trial + np.arange(per_trial)).ravel()[:size]  # (n * beats,)


def _patient_order(patient: Ints, target: Ints, random: np.random.Generator) -> list[np.int64]:
    """All patients in random order after one of each class, the classes in random order."""
    shuffled = list(random.permutation(np.unique(patient)))
    first: dict[np.int64, None] = {}
    for label in random.permutation(target.shape[1]):
        having = set(patient[target[:, label] == 1])
        if having and having.isdisjoint(first):
            first[next(name for name in shuffled if name in having)] = None
    return [*first, *(name for name in shuffled if name not in first)]


@dataclass(frozen=True)
class NamedTask:
    """A multi-label task of a dataset."""

    what: str
    """What its classes are."""
    classes: tuple[str, ...]
    of_code: Mapping[str, str] | None
    """Code -> class; None: the dataset's labels are the task's."""
    sides: SplitBy = "protocol"

    def labels(self, recording: Entry | Skipped) -> tuple[int, ...]:
        """Return indices into `classes` of a recording's labels, ascending; none where it has none of the task."""
        if self.of_code is None:
            return tuple(sorted(recording.labels))
        names = {self.of_code[code] for code in recording.statements if code in self.of_code}
        return tuple(sorted(map(self.classes.index, names)))


_CONDITIONS = NamedTask("rhythms and conditions, MERL's 38", CONDITIONS, CONDITION_OF_STATEMENT, "shuffled")
TASKS = {
    "ptb-xl": {
        task: NamedTask(what, tuple(sorted(set(class_of_code(task).values()))), class_of_code(task))
        for task, what in PTB_XL_TASKS.items()
    },
    "chapman": {"all": _CONDITIONS},
    "ningbo": {"all": _CONDITIONS},
    "cpsc2018": {"all": NamedTask("all labels of a recording", CPSC2018.classes, None, "shuffled")},
}
"""Dataset -> its named tasks."""


@dataclass(frozen=True)
class DatasetTask:
    """A dataset under a task."""

    dataset: str
    task: str = DEFAULT_TASK

    @property
    def name(self) -> str:
        """Name in cells, rows and files: 'ptb-xl', 'ptb-xl.rhythm'."""
        return self.dataset if self.named is None else f"{self.dataset}.{self.task}"

    @property
    def named(self) -> NamedTask | None:
        """Its named task; None for `default`."""
        return TASKS.get(self.dataset, {}).get(self.task)


def tasks_of(dataset: str) -> tuple[str, ...]:
    """Return the tasks that a dataset has, `default` first."""
    return (DEFAULT_TASK, *TASKS.get(dataset, {}))


def columns_of(datasets: Sequence[str], tasks: Iterable[str]) -> tuple[DatasetTask, ...]:
    """Return each dataset under those of the tasks that it has; then the transports, which have one task.

    Raises ValueError for a task that none of the datasets has, and for a dataset that has none of the tasks.
    """
    plain, requested = [name for name in datasets if AT not in name], tuple(tasks)
    columns = [DatasetTask(name, task) for name in plain for task in requested if task in tasks_of(name)]
    unused = {*plain, *(requested if plain else ())} - {name for c in columns for name in (c.dataset, c.task)}
    if unused:
        possible = "; ".join(f"{name} has {', '.join(tasks_of(name))}" for name in plain)
        raise ValueError(f"no dataset has the task, or no task fits the dataset, {sorted(unused)}: {possible}")
    return (*columns, *(DatasetTask(name) for name in datasets if AT in name))


def of_task(prepared: Prepared, column: DatasetTask) -> Prepared:
    """Return a prepared dataset under a task: the same windows with the task's labels and a fingerprint of both."""
    task = column.named
    if task is None:
        return prepared
    entries = tuple(replace(entry, labels=task.labels(entry)) for entry in prepared.entries)
    skipped = tuple(replace(skip, labels=task.labels(skip)) for skip in prepared.skipped)
    # Whether a recording is used may depend on the processor: labels are hashed whatever became of it.
    labels = {one.recording: one.labels for one in chain[Entry | Skipped](entries, skipped) if one.labels}
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


def open_task_view(folder: Path, column: DatasetTask) -> Prepared:
    """Open the prepared dataset in a folder under a task, as `open_prepared`. Raises FileNotFoundError."""
    return _task_view(folder, column, made_at(folder))


@lru_cache(maxsize=4)
def _task_view(folder: Path, column: DatasetTask, made_at: int) -> Prepared:
    return of_task(open_prepared(folder), column)
