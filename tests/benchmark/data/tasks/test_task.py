"""What a cell learns from and is scored on: the same test windows always, nested subsets, no patient on two sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from benchmark.data.prepared.beats import normalise_trials
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.data.prepared.windows import plain_seconds
from benchmark.data.readers.registry import DATASETS
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.task import Task, make_task
from benchmark.data.tasks.windows import Windows

LABELLED = [name for name, dataset in DATASETS.items() if dataset.classes and name != "ningbo"]
CPU = torch.device("cpu")
Cohorts = dict[str, Prepared]
MakePrepared = Callable[..., Prepared]


def task_of(
    prepared: Prepared,
    *,
    ratio: float = 1.0,
    seed: int = 41,
    labels: str = "single",
    protocol: str = "paper",
    per_trial: int = 6,
) -> Task:
    return make_task(prepared, TaskSpec(per_trial, labels, protocol), ratio=ratio, seed=seed, device=CPU)  # type: ignore[arg-type]


def same(a: Windows, b: Windows) -> bool:
    return (
        torch.equal(a.signal, b.signal)
        and torch.equal(a.target, b.target)
        and np.array_equal(a.recording, b.recording)
        and np.array_equal(a.patient, b.patient)
    )


def contents(windows: Windows) -> list[bytes]:
    return [x.numpy().tobytes() for x in windows.signal]


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("name", LABELLED)
def test_held_out_windows_are_the_same_for_all_ratios_and_seeds(cohorts: Cohorts, name: str, protocol: str) -> None:
    first = task_of(cohorts[name], protocol=protocol)
    for ratio, seed in ((0.1, 41), (0.01, 42), (1.0, 43)):
        task = task_of(cohorts[name], ratio=ratio, seed=seed, protocol=protocol)
        assert same(task.test, first.test)
        assert same(task.validation, first.validation)


@pytest.mark.parametrize("protocol", ["paper", "strict"])
@pytest.mark.parametrize("labels", ["single", "multi"])
@pytest.mark.parametrize("name", LABELLED)
def test_no_patient_stands_on_two_sides(cohorts: Cohorts, name: str, labels: str, protocol: str) -> None:
    task = task_of(cohorts[name], labels=labels, protocol=protocol)
    sides = [set(side.patient) for side in (task.train, task.validation, task.test)]
    assert all(sides)
    assert sum(map(len, sides)) == len(set.union(*sides))


@pytest.mark.parametrize("protocol", ["paper", "strict"])
def test_a_smaller_share_of_labels_is_the_beginning_of_a_larger_one(cohorts: Cohorts, protocol: str) -> None:
    shares = [task_of(cohorts["ptb-xl"], ratio=ratio, protocol=protocol).train for ratio in (0.01, 0.1, 0.3, 1.0)]
    assert 1 <= len(shares[0]) <= len(shares[1]) < len(shares[2]) < len(shares[3])
    for smaller, larger in pairwise(shares):
        assert contents(larger)[: len(smaller)] == contents(smaller)


def test_the_subset_is_the_seeds_own_only_under_the_strict_protocol(cohorts: Cohorts) -> None:
    def subset(protocol: str, seed: int) -> list[bytes]:
        return contents(task_of(cohorts["ptb-xl"], ratio=0.3, seed=seed, protocol=protocol).train)

    assert subset("paper", 41) == subset("paper", 42)
    assert subset("strict", 41) == subset("strict", 41)
    assert subset("strict", 41) != subset("strict", 42)


def test_the_share_is_counted_in_windows_or_in_patients(cohorts: Cohorts) -> None:
    full = task_of(cohorts["ptb-xl"])
    assert len(task_of(cohorts["ptb-xl"], ratio=0.1).train) == int(0.1 * len(full.train))
    strict = task_of(cohorts["ptb-xl"], ratio=0.3, protocol="strict")
    assert strict.counts()["train_patients"] == int(0.3 * full.counts()["train_patients"])


def test_windows_are_the_beats_of_the_normalised_pseudo_trials_with_their_recordings_label(cohorts: Cohorts) -> None:
    chapman = cohorts["chapman"]
    task, all_trials = task_of(chapman), trials(chapman, 6)
    number = {entry.recording: index for index, entry in enumerate(chapman.entries)}
    first = number[task.test.recording[0]]
    expected = all_trials.signal[all_trials.recording == first][0, :300]
    np.testing.assert_array_equal(task.test.signal[0].numpy(), expected)
    assert task.test.signal.dtype == torch.float16
    for recording, patient, target in zip(task.test.recording, task.test.patient, task.test.target, strict=True):
        entry = chapman.entries[number[recording]]
        assert patient == entry.patient
        assert target.nonzero().flatten().tolist() == list(entry.labels)


def test_the_kind_of_labels_decides_the_task(cohorts: Cohorts) -> None:
    single, multi = (task_of(cohorts["ptb-xl"], labels=labels) for labels in ("single", "multi"))
    assert (single.multi, multi.multi) == (False, True)
    assert set(single.train.target.sum(1).tolist()) == {1.0}
    assert multi.train.target.sum(1).max() > 1
    assert len(multi.train) > len(single.train)


def test_counts_are_of_windows_recordings_and_patients(make_prepared: MakePrepared) -> None:
    train = [("p1", (0,), 13, 1), ("p1", (1,), 6, 2), ("p2", (2,), 12, 3)]
    task = task_of(make_prepared("ptb-xl", [*train, ("p3", (0,), 6, 9), ("p4", (1,), 25, 10), ("p5", (1,), 5, 10)]))
    assert task.counts() == {
        "train_windows": 30, "train_recordings": 3, "train_patients": 2,
        "validation_windows": 6, "validation_recordings": 1, "validation_patients": 1,
        "test_windows": 24, "test_recordings": 1, "test_patients": 1,
    }  # fmt: skip
    assert task.unit == "heartbeat"


def test_an_absent_class_is_noted(make_prepared: MakePrepared) -> None:
    recordings = [("p1", (0,), 12, 1), ("p2", (1,), 12, 2), ("p3", (0,), 6, 9), ("p4", (1,), 6, 10)]
    (note,) = task_of(make_prepared("ptb-xl", recordings)).notes
    assert note == "no labelled window of class STTC, CD, HYP"


@pytest.mark.parametrize(("side", "fold"), [("train", 1), ("validation", 9), ("test", 10)])
def test_a_side_whose_recordings_are_too_short_is_empty_and_noted(
    make_prepared: MakePrepared, side: str, fold: int
) -> None:
    recordings = [(f"p{f}", (0,), 5 if f == fold else 12, f) for f in (1, 9, 10)]
    task = task_of(make_prepared("ptb-xl", recordings))
    windows = {"train": task.train, "validation": task.validation, "test": task.test}
    assert {name: len(w) for name, w in windows.items()} == {name: 0 if name == side else 12 for name in windows}
    assert f"no {side} window: its recordings have fewer than 6 heartbeats each" in task.notes
    assert windows[side].signal.shape == (0, 300, 12)
    assert windows[side].target.shape == (0, 5)
    assert windows[side].recording.dtype.kind == windows[side].patient.dtype.kind == "U"


def test_a_test_side_that_is_not_asked_for_is_empty_without_a_word(cohorts: Cohorts) -> None:
    tested = task_of(cohorts["ptb-xl"])
    task = make_task(cohorts["ptb-xl"], TaskSpec(6, "single", "paper"), ratio=1.0, seed=41, device=CPU, tested=False)
    assert (len(tested.test) > 0, len(task.test)) == (True, 0)
    assert same(task.train, tested.train)
    assert same(task.validation, tested.validation)
    assert (task.notes, task.unscored) == (tested.notes, "")


def test_windows_vote_by_their_mean_unless_the_task_says_otherwise(cohorts: Cohorts) -> None:
    data = cohorts["ptb-xl"]
    task = make_task(data, TaskSpec(6, "single", "paper", pool="max"), ratio=1.0, seed=41, device=CPU)
    assert task.pool == "max"
    bare = Task(task.train, task.validation, task.test, multi=False, unit="heartbeat")
    assert (bare.pool, bare.notes, bare.unscored, bare.crops) == ("mean", [], "", None)


def test_a_side_without_recordings_is_empty_and_noted(make_prepared: MakePrepared) -> None:
    task = task_of(make_prepared("ptb-xl", [("p1", (0,), 12, 1), ("p9", (0,), 12, 9)]))
    assert [len(windows) for windows in task.sides().values()] == [12, 12, 0]
    assert task.notes[0] == (
        "no labelled recording for test (training 1, validation 1, test 0): the dataset is too small"
    )


def test_a_dataset_that_cannot_be_split_has_no_window_and_the_notes_say_why(make_prepared: MakePrepared) -> None:
    task = task_of(make_prepared("ptb-xl", [("p1", (0,), 12, 1), ("p2", (0,), 12, None), ("p3", (0,), 12, 10)]))
    assert [len(windows) for windows in task.sides().values()] == [0, 0, 0]
    assert task.notes == ["recording r001 has no official fold, others of its dataset have"]
    assert task.unscored == task.notes[0]


def test_plain_windows_are_those_of_the_pseudo_trials(make_prepared: MakePrepared) -> None:
    beats = make_prepared("ptb-xl", [("p1", (0,), 4, 1), ("p2", (1,), 4, 9), ("p3", (1,), 5, 10)])
    windows = np.random.default_rng(0).normal(size=(13, 625, 12)).astype(np.float16)
    plain = replace(beats, windows=windows, segmentation=plain_seconds(2.5))
    task = task_of(plain, per_trial=2)
    assert task.test.signal.shape == (4, 625, 12)
    expected = normalise_trials(windows[8:10], 2)[0].astype(np.float16)
    np.testing.assert_array_equal(task.test.signal[:2].flatten(0, 1).numpy(), expected)


def test_the_protocol_decides_the_unit(cohorts: Cohorts) -> None:
    assert task_of(cohorts["chapman"]).unit == "heartbeat"
    assert task_of(cohorts["chapman"], protocol="strict").unit == "recording"
