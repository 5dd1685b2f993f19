"""What a cell learns from and is scored on: the same test windows always, nested subsets, no patient on two sides.

A named task has a dataset's windows and labels of its own; nothing is prepared again for it.

Coverage counts patients per class, once each, whatever side they are on and however they were lost.

Windows to look at: never pretrained on, never tested on, patients with several recordings first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import benchmark.data.task as module
from benchmark.data.corpus import trials_of
from benchmark.data.prepare import Prepared, Skipped
from benchmark.data.splits import TaskSpec, split_of
from benchmark.data.task import ProbeWindows, Task, Windows, coverage, probe_windows, sides_for_tasks, task_on
from tests.benchmark.tasks import make_task

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


@pytest.mark.parametrize(("labels", "protocol"), [("single", "paper"), ("multi", "strict"), ("single", "strict")])
@pytest.mark.parametrize("name", ["ptb-xl", "chapman", "cpsc2018"])
def test_held_out_windows_are_always_the_same_and_no_patient_stands_on_two_sides(
    cohorts: Cohorts, name: str, labels: str, protocol: str
) -> None:
    first = task_of(cohorts[name], labels=labels, protocol=protocol)
    sides = [set(side.patient) for side in first.sides().values()]
    assert all(sides)
    assert sum(map(len, sides)) == len(set.union(*sides))
    for ratio, seed in ((0.1, 41), (0.01, 42)):
        task = task_of(cohorts[name], ratio=ratio, seed=seed, labels=labels, protocol=protocol)
        assert same(task.test, first.test)
        assert same(task.validation, first.validation)


def test_windows_are_the_beats_of_the_normalised_pseudo_trials_with_their_recordings_label(cohorts: Cohorts) -> None:
    chapman = cohorts["chapman"]
    task, all_trials = task_of(chapman), trials_of(chapman, 6)
    number = {entry.recording: index for index, entry in enumerate(chapman.entries)}
    first = number[task.test.recording[0]]
    expected = all_trials.take(np.flatnonzero(all_trials.recording == first))[0]
    np.testing.assert_array_equal(task.test.signal[0].numpy(), expected)
    assert task.test.signal.dtype == torch.float16
    for recording, patient, target in zip(task.test.recording, task.test.patient, task.test.target, strict=True):
        entry = chapman.entries[number[recording]]
        assert patient == entry.patient
        assert target.nonzero().flatten().tolist() == list(entry.labels)


@pytest.mark.parametrize(
    ("recordings", "sizes", "note"),
    [
        (
            [("p1", (0,), 12, 1), ("p2", (1,), 12, 2), ("p3", (0,), 6, 9), ("p4", (1,), 6, 10), ("p5", (0,), 6, 10)],
            [24, 6, 12],
            "no labelled window of class STTC, CD, HYP",
        ),
        ([("p1", (0,), 12, 1), ("p9", (0,), 12, 9)], [12, 12, 0], "no labelled recording for test"),
        ([("p1", (0,), 12, 1), ("p2", (0,), 12, None), ("p3", (0,), 12, 10)], [0, 0, 0], "recording r001 has no off"),
    ],
)
def test_absent_classes_empty_sides_and_data_without_a_split_are_noted(
    make_prepared: MakePrepared, recordings: list[Any], sizes: list[int], note: str
) -> None:
    task = task_of(make_prepared("ptb-xl", recordings))
    assert [len(windows) for windows in task.sides().values()] == sizes
    assert task.notes[0].startswith(note)
    assert task.unscored == ("" if all(sizes) else task.notes[0])


SPEC = TaskSpec(6, "multi", "paper")


LOST = (
    Skipped("s1", "p9", (0,), "heart rate below 50/min: median RR 320 samples at 250 Hz"),
    Skipped("s2", "p9", (0,), "too short: 1.00 s"),
    Skipped("s3", "p1", (0,), "NaN samples"),
    Skipped("s4", "s4", (), "no label: empty"),
    Skipped("s5", "p8", (0, 3), "NaN samples"),
)


def test_a_patient_is_lost_where_no_recording_of_the_class_is_left(make_prepared: MakePrepared) -> None:
    recordings = [("p1", (0,), 12, 1), ("p2", (0,), 5, 9), ("p3", (1,), 5, 10), ("p3", (1,), 6, 10), ("p4", (2,), 6, 1)]
    result = coverage(replace(make_prepared("ptb-xl", recordings), skipped=LOST), TaskSpec(6, "single", "paper"))
    assert list(result) == ["NORM", "MI", "STTC", "CD", "HYP"]
    assert result["NORM"] == {
        "patients": 3,
        "unscored": {"p2": "fewer than 6 heartbeats", "p9": "heart rate below 50/min"},
    }
    assert result["MI"] == {"patients": 1, "unscored": {}}
    assert result["CD"] == result["HYP"] == {"patients": 0, "unscored": {}}


BEATS = 6
PROBE_WINDOWS_SPEC = TaskSpec(BEATS, "single", "paper")


def look(*datasets: Prepared, corpus: str = "mimic-iv-ecg") -> ProbeWindows:
    return probe_windows([[(item, PROBE_WINDOWS_SPEC)] for item in datasets], corpus, CPU)


def windows_of(prepared: Prepared, recordings: NDArray[np.int64]) -> set[bytes]:
    """The windows of some recordings, by content."""
    table = trials_of(prepared, BEATS)
    chosen = table.take(np.flatnonzero(np.isin(table.recording, recordings)), windows=BEATS)
    return {window.tobytes() for window in chosen.reshape(-1, 300, 12)}


def test_no_window_is_tested_on_or_pretrained_on(cohorts: dict[str, Prepared]) -> None:
    for name in ("ptb-xl", "chapman"):
        prepared = cohorts[name]
        split = split_of(prepared, PROBE_WINDOWS_SPEC)
        unseen = {window.numpy().tobytes() for window in look(prepared).signal}
        assert unseen <= windows_of(prepared, np.concatenate([split.train, split.validation]))
        assert not unseen & windows_of(prepared, split.test)
        held = {window.numpy().tobytes() for window in look(prepared, corpus=name).signal}
        assert 0 < len(held) < len(unseen)
        assert held <= windows_of(prepared, split.validation)


def fold_of(index: int) -> int:
    """A training, a validation and a test fold, the first by far the most."""
    return {1: 9, 2: 10}.get(index % 10, 1)


def test_two_windows_of_each_recording_away_from_its_ends(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [(f"p{i}", (i % 2,), 13 + i % 5, fold_of(i)) for i in range(20)])
    result = look(prepared)
    assert result.signal.shape == (36, 300, 12)
    assert result.signal.dtype == torch.float16
    assert result.recording.tolist() == [r for r in range(18) for _ in range(2)]
    table = trials_of(prepared, BEATS)
    of_first = table.take(np.flatnonzero(table.recording == 0), windows=BEATS).reshape(-1, 300, 12)  # (12, S, L)
    for window, expected in zip(result.signal[:2].numpy(), of_first[[3, 8]], strict=True):
        np.testing.assert_array_equal(window, expected)


def test_patients_with_several_recordings_come_first(
    make_prepared: MakePrepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = [(owner, (i % 2,), 12, fold_of(i + 3)) for i, owner in enumerate("abcadcefghij")]  # h is tested on
    first, second = make_prepared("ptb-xl", recordings), make_prepared("ptb-xl", recordings)
    second = replace(second, windows=-second.windows)
    result = look(first, second)
    owners = [int(patient) for patient in result.patient[::2]]  # one per recording
    assert len(owners) == 2 * 11
    assert len(set(owners)) == 2 * 9  # an equal name in two datasets is two patients
    several = owners[:8]  # a and c of both
    assert [several.count(owner) for owner in several] == [2] * 8
    assert not set(several) & set(owners[8:])
    shown = [{window.tobytes() for window in result.signal[at : at + 4].numpy()} for at in (0, 4, 8, 12)]
    expected = [windows_of(prepared, np.array(item)) for prepared in (first, second) for item in ((0, 3), (2, 5))]
    assert all(one <= other for one, other in zip(shown, expected, strict=True))  # in the order of datasets and names
    monkeypatch.setattr(module, "RECORDINGS", 6)
    cut = look(first, second)
    assert torch.equal(cut.signal, result.signal[:12])
    assert len(cut.recording) == len(cut.patient) == 12


STRICT = TaskSpec(6, "single", "strict")


def test_settings_are_chosen_on_the_labelled_share_of_the_validation_patients_or_on_all(
    make_prepared: MakePrepared,
) -> None:
    recordings = [(f"p{number}", (number // 10 % 4,), 6, 1 + number % 10) for number in range(200)]
    prepared = make_prepared("ptb-xl", recordings)  # 20 patients a fold
    sides = sides_for_tasks(prepared, replace(STRICT, validation_labels="share"), device=torch.device("cpu"))
    whole = set(sides.validation.patient)
    first, second = (task_on(sides, ratio=0.2, seed=seed) for seed in (1, 2))
    chosen = set(first.validation.patient)
    assert chosen < whole
    assert chosen != set(second.validation.patient)
    classes = first.validation.truth().any(axis=0)
    assert classes.sum() == 4
    assert len(chosen) == len(prepared.classes)
    assert first.test.recordings == second.test.recordings == sides.test.recordings
    for spec, ratio in ((replace(STRICT, validation_labels="share"), 1.0), (STRICT, 0.1)):
        sides = sides_for_tasks(prepared, spec, device=torch.device("cpu"))
        assert task_on(sides, ratio=ratio, seed=1).validation.content == sides.validation.content
