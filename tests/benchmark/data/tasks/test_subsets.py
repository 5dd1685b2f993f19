"""Labelled subsets of FIX and of few shots: which recordings, nested patients, and too few of a class said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.data.prepared.load import Prepared
from benchmark.data.tasks.spec import TaskSpec
from benchmark.data.tasks.subsets import drawn_by_recording, drawn_per_class, patients_per_class
from benchmark.data.tasks.task import Draw, Sides, Task, sides_for_tasks, task_on

MakePrepared = Callable[..., Prepared]
STRICT, PAPER, MULTI = TaskSpec(6, "single", "strict"), TaskSpec(6, "single", "paper"), TaskSpec(6, "multi", "strict")


def sides_of(prepared: Prepared, spec: TaskSpec = STRICT) -> Sides:
    return sides_for_tasks(prepared, spec, device=torch.device("cpu"))


def task_of(sides: Sides, draw: Draw, ratio: float, seed: int = 41) -> Task:
    return task_on(sides, ratio=ratio, seed=seed, draw=draw)


def patients_of(task: Task) -> list[set[str]]:
    """The labelled patients of each class."""
    classes = range(task.train.target.shape[1])
    return [set(task.train.patient[task.train.target[:, label].numpy() > 0].tolist()) for label in classes]


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.1])
def test_fix_takes_the_first_of_permuted_recordings_whatever_the_seed(
    cohorts: dict[str, Prepared], ratio: float
) -> None:
    sides = sides_of(cohorts["chapman"], PAPER)
    every = np.unique(sides.trials.recording[sides.train])
    order = torch.randperm(len(every), generator=torch.Generator().manual_seed(42)).numpy()
    names = {cohorts["chapman"].entries[r].recording for r in every[order[: int(len(every) * ratio)]]}
    for seed in (41, 42):
        task = task_of(sides, drawn_by_recording, ratio, seed)
        assert set(task.train.recordings) == names
    whole = {r: np.sum(sides.trials.recording[sides.train] == r) * 6 for r in every}
    assert len(task.train) == sum(whole[r] for r in every[order[: len(names)]])


def test_a_share_below_one_recording_is_one(cohorts: dict[str, Prepared]) -> None:
    assert len(task_of(sides_of(cohorts["chapman"], PAPER), drawn_by_recording, 1e-6).train.recordings) == 1


@pytest.mark.parametrize("spec", [STRICT, PAPER, MULTI])
def test_each_class_has_its_patients_and_fewer_shots_are_among_more(
    cohorts: dict[str, Prepared], spec: TaskSpec
) -> None:
    name = "ptb-xl" if spec.labels == "multi" else "chapman"
    sides = sides_of(cohorts[name], spec)
    most = min(patients_per_class(cohorts[name], spec).values())
    assert most >= 3
    before: set[str] = set()
    for shots in range(1, most + 1):
        task = task_of(sides, drawn_per_class, shots)
        chosen = set(task.train.patient.tolist())
        assert min(map(len, patients_of(task))) >= shots
        assert before <= chosen
        if spec.labels == "single" and len(chosen) == len(set(sides.trials.patient[sides.train])):
            break
        before = chosen
    assert task.unscored == ""


def test_with_one_class_a_patient_there_are_exactly_so_many(make_prepared: MakePrepared) -> None:
    recordings = [(f"p{number}", (number % 4,), 6, 1 + number % 10) for number in range(200)]
    sides = sides_of(make_prepared("chapman", recordings))
    task = task_of(sides, drawn_per_class, 5)
    assert list(map(len, patients_of(task))) == [5] * 4
    assert len(task.train) == 5 * 4 * 6


def test_of_classes_with_equally_many_patients_the_first_goes_first(cohorts: dict[str, Prepared]) -> None:
    """Forty classes of three sizes; the rounds written out."""
    sides = sides_of(cohorts["chapman"])
    trials, train = sides.trials, sides.train
    everybody = np.unique(trials.patient[train])
    member = np.array([[(p * 7 + label) % 40 < 8 + label % 3 for label in range(40)] for p in range(len(everybody))])
    target = np.zeros((len(sides.target), 40), np.int64)
    target[trials.recording[train]] = member[np.searchsorted(everybody, trials.patient[train])]
    prepared = replace(sides.prepared, classes=tuple(f"c{label}" for label in range(40)))
    most = int(min(member.sum(axis=0)))
    assert most >= 2
    order = np.random.default_rng(41).permutation(len(everybody)).tolist()
    chosen: set[int] = set()
    for enough in range(1, 3):
        for label in sorted(range(40), key=lambda label: (member[:, label].sum(), label)):
            if sum(member[p, label] for p in chosen) < enough:
                chosen.add(next(p for p in order if member[p, label] and p not in chosen))
    drawn = drawn_per_class(replace(sides, prepared=prepared, target=target), 2, 41)
    expected = train[np.isin(trials.patient[train], everybody[sorted(chosen)])]
    assert set((drawn.windows // 6).tolist()) == set(expected.tolist())
    assert len(chosen) < len(everybody)


def test_all_windows_of_a_patient_are_labelled(make_prepared: MakePrepared) -> None:
    recordings = [(f"p{number // 2}", (number // 2 % 4,), 12, 1 + number // 2 % 10) for number in range(200)]
    task = task_of(sides_of(make_prepared("chapman", recordings)), drawn_per_class, 3)
    assert len(task.train) == 3 * 4 * 2 * 12


def test_a_seed_draws_other_patients_and_the_same_seed_the_same(cohorts: dict[str, Prepared]) -> None:
    sides = sides_of(cohorts["chapman"])
    one, again, other = (set(task_of(sides, drawn_per_class, 1, seed).train.patient) for seed in (41, 41, 42))
    assert one == again
    assert one != other


def test_too_few_patients_of_a_class_are_named_and_nothing_is_drawn(make_prepared: MakePrepared) -> None:
    recordings: list[Any] = [(f"p{number}", (min(3, number % 8),), 6, 1 + number % 8) for number in range(64)]
    recordings += [("v", (0,), 6, 9), ("t", (0,), 6, 10)]
    prepared = make_prepared("chapman", recordings)
    names = prepared.classes
    assert patients_per_class(prepared, STRICT) == dict(zip(names, (8, 8, 8, 40), strict=True))
    task = task_of(sides_of(prepared), drawn_per_class, 9)
    few = ", ".join(f"{name} 8" for name in names[:3])
    assert task.unscored == f"too few training patients for 9 per class: {few}"
    assert len(task.train) == 0
    assert task_of(sides_of(prepared), drawn_per_class, 8).unscored == ""
