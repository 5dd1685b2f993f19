"""Splits and labelled subsets: no patient on two sides, nothing of the test side depends on seed or ratio."""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.utils import shuffle

from benchmark.data.audit import judged_splits
from benchmark.data.column import Column, dealing_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import ALWAYS_TESTED, NO_FOLD, Entry
from benchmark.data.prepare import Prepared, open_prepared
from benchmark.data.recordings import table_of
from benchmark.data.splits import Part, Split, TaskSpec, labelled_subset
from benchmark.data.tasks import DatasetTask, columns_of, of_task, tasks_of
from tests.benchmark.tables import rows_of, table, with_cells

CLASSES = ("a", "b", "c")
PAPER = TaskSpec(6, "single", "paper")
STRICT = TaskSpec(6, "single", "strict")
MULTI = TaskSpec(6, "multi", "strict")


def entry(name: str, *labels: int, patient: str | None = None, fold: int = NO_FOLD) -> Entry:
    return Entry(name, patient or name, "", labels, fold=fold)


def cohort(patients: int = 200) -> list[Entry]:
    """Patients with one to four recordings each, labels a > b > c in frequency, some with two labels or none."""
    random = np.random.default_rng(0)
    entries = []
    for patient in range(patients):
        for visit in range(random.integers(1, 5)):
            count = random.choice([0, 1, 1, 1, 1, 2])
            labels = random.choice(3, size=count, replace=False, p=[0.6, 0.3, 0.1])
            entries.append(entry(f"{patient:03d}-{visit}", *map(int, labels), patient=f"p{patient}"))
    return entries


def listed(entries: list[Entry]) -> Any:
    """What a split needs of a prepared dataset."""
    return SimpleNamespace(recordings=table(entries), classes=CLASSES, first_label_counts=False)


def shared_patients(entries: list[Entry], split: Split) -> set[str]:
    """Patients on two sides."""
    sides = [{entries[r].patient for r in numbers} for numbers in split]
    return set().union(*(one & other for one, other in combinations(sides, 2)))


def split_of(entries: list[Entry], spec: TaskSpec) -> Split:
    return Column(listed(entries), spec).split


@pytest.mark.parametrize(("rule", "known"), [(STRICT, "5bd6b0da"), (MULTI, "5c1f34bd")])
def test_a_strict_split_has_no_patient_on_two_sides(rule, known):
    # Another split is another result: where this has to change, SPLIT_VERSION has to be raised.
    entries = cohort(60)
    split = split_of(entries, rule)
    assert known == f"{zlib.crc32(repr([split.validation.tolist(), split.test.tolist()]).encode()):08x}"
    assert not shared_patients(entries, split)
    turned = entries[::-1]
    assert {turned[i].recording for i in split_of(turned, rule).test} == {entries[i].recording for i in split.test}


def test_paper_cuts_each_class_in_name_order():
    entries = [entry(f"x{index:02d}", index % 2) for index in range(40)][::-1]
    split = split_of(entries, PAPER)
    assert sorted(entries[i].recording for i in split.test) == ["x36", "x37", "x38", "x39"]
    assert sorted(entries[i].recording for i in split.validation) == ["x32", "x33", "x34", "x35"]
    assert len(split.train) == 32
    assert (np.diff(split.train) > 0).all()


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_official_folds_win(protocol):
    entries = [entry(f"x{fold}", 0, fold=fold) for fold in range(1, 11)]
    split = split_of(entries, TaskSpec(6, "single", protocol))
    assert (list(split.train), list(split.validation), list(split.test)) == ([*range(8)], [8], [9])


@pytest.mark.parametrize("spec", [PAPER, STRICT, replace(MULTI, sides="shuffled")])
def test_a_test_part_moves_no_other_recording(spec):
    usual = cohort(60)
    further = [entry(f"z{number}", number % 3, fold=ALWAYS_TESTED) for number in range(9)]
    before, after = split_of(usual, spec), split_of([*usual, *further], spec)
    assert after.test.tolist() == [*before.test, *range(len(usual), len(usual) + 9)]
    assert [side.tolist() for side in after[:2]] == [side.tolist() for side in before[:2]]


@pytest.mark.parametrize(
    ("labels", "protocol", "first", "expected"),
    [
        ("single", "paper", False, [(), (0,), ()]),
        ("single", "paper", True, [(), (0,), (2,)]),
        ("single", "strict", True, [(), (0,), ()]),
        ("multi", "paper", True, [(), (0,), (2, 1)]),
    ],
)
def test_what_a_recording_counts_for(labels, protocol, first, expected):
    data = listed([entry(f"r{number}", *item) for number, item in enumerate(((), (0,), (2, 1)))])
    data.first_label_counts = first
    column = Column(data, TaskSpec(6, labels, protocol))
    assert [column.counted(item) for item in data.recordings.labels] == expected
    assert [tuple(np.flatnonzero(row)) for row in column.target] == [tuple(sorted(item)) for item in expected]


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("folds", [0, 5])
def test_a_recording_with_no_to_every_class_is_on_a_side_of_multi_label_tasks_alone(protocol, folds):
    denied = [replace(entry(f"n{number:02d}"), is_negative=True) for number in range(20)]
    data = listed([*(entry(f"y{number:02d}", number % 2) for number in range(40)), *denied, entry("not assessed")])
    multi = Column(data, TaskSpec(1, "multi", protocol, folds=folds))
    single = Column(data, TaskSpec(1, "single", protocol, folds=folds))
    assert Column(data, replace(multi.spec, folds=5)).tested.tolist() == list(range(60))
    parts = judged_splits(multi) if folds else [multi.split]
    for split in parts:
        assert sorted(np.concatenate(split).tolist()) == list(range(60))
        assert data.recordings.is_negative[split.test].sum() == (4 if folds else 2)
    assert not multi.target[40:].any()
    assert max(map(max, single.split)) < 40
    assert (multi.left_out, single.left_out) == ({"no label": 1}, {"no label": 21})


# Labelled subsets: 60 training pseudo-trials of 20 patients with 6 beats each, numbered from 100.
TRIAL = np.arange(100, 160)
PATIENT = np.repeat(np.arange(20), 3)
TARGET = np.eye(3, dtype=np.int64)[np.repeat([0] * 12 + [1] * 6 + [2] * 2, 3)]


def subset(ratio: float, protocol: str = "strict", seed: int = 1, target: np.ndarray = TARGET) -> NDArray[np.int64]:
    spec = TaskSpec(6, "single", protocol)  # type: ignore[arg-type]
    return labelled_subset(TRIAL, PATIENT, target, ratio, spec, seed=seed)


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_subsets_are_nested(protocol):
    ratios = [1e-6, 0.01, 0.1, 0.3, 0.5, 1.0]
    windows = [subset(ratio, protocol) for ratio in ratios]
    assert len(windows[0]) == (1 if protocol == "paper" else 18)
    for smaller, larger in pairwise(windows):
        np.testing.assert_array_equal(larger[: len(smaller)], smaller)
    assert sorted(windows[-1]) == list(range(600, 960))


def test_paper_takes_the_first_windows_of_the_authors_shuffle_whatever_the_seed():
    theirs = shuffle(TRIAL, random_state=42)
    expected = (theirs[:, None] * 6 + np.arange(6)).ravel()[: int(360 * 0.1)]
    for seed in (41, 45):
        np.testing.assert_array_equal(subset(0.1, "paper", seed), expected)
    assert len(subset(0.01, "paper")) == 3
    spec = TaskSpec(6, "single", "paper")
    further = [labelled_subset(TRIAL, PATIENT, TARGET, 0.1, spec, seed=seed, subset=1) for seed in (41, 45)]
    order = np.random.RandomState([42, 1]).permutation(60)
    np.testing.assert_array_equal(further[0], (TRIAL[order, None] * 6 + np.arange(6)).ravel()[:36])
    np.testing.assert_array_equal(further[1], further[0])


@pytest.mark.parametrize("seed", range(5))
def test_strict_takes_whole_patients_one_of_each_class_first(seed):
    drawn = subset(0.15, seed=seed)
    of_patient = PATIENT[drawn // 6 - 100]
    assert len(set(of_patient)) == 3
    assert len(drawn) == 3 * 18
    assert TARGET[drawn // 6 - 100].any(axis=0).all()


def test_strict_subsets_depend_on_the_seed_alone():
    # Another subset is another result: where this has to change, SPLIT_VERSION has to be raised.
    order = PATIENT[subset(1.0, seed=1)[::18] // 6 - 100]
    assert order.tolist() == [18, 16, 1, 10, 7, 11, 12, 17, 15, 2, 3, 4, 5, 8, 0, 9, 14, 13, 6, 19]
    assert len({tuple(subset(0.1, seed=seed)) for seed in range(5)}) > 1


def test_the_sides_of_cpsc2018_are_as_large_as_merl_s(shared_ecgs: Path) -> None:
    task = DatasetTask("cpsc2018", "all").named
    assert task is not None
    rows = [line.split(",") for line in (shared_ecgs / "cpsc2018" / "REFERENCE.csv").read_text().split()[1:]]
    entries = [Entry(name, name, name, tuple(int(label) - 1 for label in stated if label)) for name, *stated in rows]
    sides = [
        split_of(entries, TaskSpec(6, "multi", protocol, sides=task.sides)).titled()  # type: ignore[arg-type]
        for protocol in ("paper", "strict")
    ]
    assert {side: len(item) for side, item in sides[0].items()} == {"training": 4950, "validation": 551, "test": 1376}
    assert all((sides[0][side] == sides[1][side]).all() for side in sides[0])
    assert sorted(index for item in sides[0].values() for index in item) == list(range(6877))


FOLDS = TaskSpec(1, "single", "strict", folds=5)


def test_in_a_cross_validation_every_labelled_recording_is_tested_once_by_what_is_learned_on_other_patients() -> None:
    """40 patients of a class each, 20 of the other, two recordings each; and one recording without a label."""
    visits = [(f"p{patient}", patient // 40, visit) for patient in range(60) for visit in "ab"]
    recordings = [entry(f"{patient}-{visit}", label, patient=patient) for patient, label, visit in visits]
    data = listed([*recordings, entry("none")])
    column = Column(data, FOLDS)
    assert column.is_cross_validated
    assert not Column(data, STRICT).is_cross_validated
    dealing = dealing_of([column], seed=41)
    parts = [column.split_of_part(Part(dealing, number)) for number in range(5)]
    tested = np.concatenate([part.test for part in parts])
    assert sorted(tested.tolist()) == list(range(120)) == column.tested.tolist()
    for part in parts:
        assert not shared_patients([*recordings, entry("none")], part)
        assert sorted([*part.train, *part.validation, *part.test]) == list(range(120))
        assert len(part.validation) == 12  # 6 of 48 patients
        assert sum(data.recordings.labels[r] == (0,) for r in part.test) == 16
    assert f"{zlib.crc32(repr([part.test.tolist() for part in parts]).encode()):08x}" == "a128ed28"
    other = column.split_of_part(Part(dealing_of([column], seed=42), 0))
    assert other.test.tolist() != parts[0].test.tolist()


RHYTHM = DatasetTask("ptb-xl", "rhythm")


def test_each_task_is_split_as_its_authors_do() -> None:
    merl = {}
    for name in ("chapman", "ningbo", "cpsc2018"):
        task = DATASETS[name].tasks["all"]
        merl[name] = (len(task.classes), task.sides)
    assert merl == {"chapman": (38, "shuffled"), "ningbo": (38, "shuffled"), "cpsc2018": (9, "shuffled")}
    assert {task.sides for task in DATASETS["ptb-xl"].tasks.values()} == {"protocol"}


def test_a_dataset_takes_the_tasks_that_it_has() -> None:
    columns = columns_of(("ptb-xl", "cpsc2018", "ours"), ("all", "rhythm", "default"))
    assert [column.name for column in columns] == [
        *("ptb-xl.all", "ptb-xl.rhythm", "ptb-xl"),
        *("cpsc2018.all", "cpsc2018", "ours"),
    ]
    assert [column.named is None for column in columns] == [False, False, True, False, True, True]
    assert tasks_of("ours") == ("default",)


def test_a_named_task_has_names_of_its_own(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["cpsc2018"]
    assert of_task(data, DatasetTask("cpsc2018")) is data
    result = of_task(data, DatasetTask("cpsc2018", "all"))
    assert (result.name, result.title, result.dataset_name) == ("cpsc2018.all", "CPSC2018 all", "cpsc2018")
    assert (data.first_label_counts, result.first_label_counts) == (True, False)


def test_a_task_s_fingerprint_is_of_its_labels(cohorts: dict[str, Prepared]) -> None:
    data = cohorts["ptb-xl"]
    other = with_cells(data, statements=["AFIB", *[*data.recordings.statements][1:]])
    assert len({data.fingerprint, of_task(data, RHYTHM).fingerprint, of_task(other, RHYTHM).fingerprint}) == 3
    assert of_task(data, RHYTHM).fingerprint == of_task(open_prepared(data.folder), RHYTHM).fingerprint
    first, *others = rows_of(data.recordings)
    rows = [*others, *rows_of(data.skipped), replace(first, reason="just too slow")]
    without = replace(data, listed=table_of(rows))
    assert of_task(without, RHYTHM).fingerprint == of_task(data, RHYTHM).fingerprint


@pytest.mark.parametrize(
    ("spec", "fold", "words"),
    [
        (PAPER, NO_FOLD, "in the order of names"),
        (STRICT, NO_FOLD, "by patient within each class at random"),
        (STRICT, 3, "by the folds"),
        (replace(MULTI, sides="shuffled"), NO_FOLD, "at random, 20 % for testing and 10 %"),
        (replace(STRICT, folds=5), NO_FOLD, "into 5 parts"),
    ],
)
def test_the_division_of_a_column_is_that_of_its_split(spec: TaskSpec, fold: int, words: str) -> None:
    entries = [entry(str(number), 0, fold=fold) for number in range(3)]
    assert words in Column(listed(entries), spec).division
