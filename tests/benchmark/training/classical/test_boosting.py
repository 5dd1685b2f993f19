"""The boosted features: what they learn, choose by and predict, and what they do with few labels and few classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from benchmark.config.sections.evaluate import Boosting
from benchmark.data.tasks.task import Task
from benchmark.data.tasks.windows import Windows
from benchmark.training.classical import boosting as boosting_module
from benchmark.training.classical.boosting import Stages, at_250_hz, boost, fit
from benchmark.training.classical.features import beat_features
from benchmark.training.finetune import Outcome

MakeTask = Callable[..., Task]
THREE = [[0], [1], [2]]
FAST = Boosting(iterations=12, leaf_windows=[2], l2=0.0, feature_share=0.1)


def windows(labels: Sequence[Sequence[int]], classes: int, seed: int) -> Windows:
    """A beat in noise; one of class c has its T wave upside down in the leads c and c + 6."""
    random = np.random.default_rng(seed)
    target = np.zeros((len(labels), classes), np.float32)
    sign = np.ones((len(labels), 12))
    for row, signs, own in zip(target, sign, labels, strict=True):
        row[list(own)] = 1
        signs[[lead for c in own for lead in (c, c + 6)]] = -1
    time = np.arange(300)[:, None]
    qrs, t_wave = np.exp(-0.5 * ((time - 150) / 3) ** 2), 0.4 * np.exp(-0.5 * ((time - 220) / 12) ** 2)
    signal = qrs + t_wave * sign[:, None] + random.normal(0, 0.02, size=(len(labels), 300, 12))
    names = np.array([f"{seed}-{index // 2}" for index in range(len(labels))], dtype=np.str_)
    return Windows(torch.from_numpy(signal).half(), torch.from_numpy(target), names, names)


def task_of(
    train: Sequence[Sequence[int]],
    validation: Sequence[Sequence[int]],
    test: Sequence[Sequence[int]],
    *,
    classes: int = 3,
    multi: bool = False,
) -> Task:
    sides = [windows(labels, classes, seed) for seed, labels in enumerate((train, validation, test))]
    return Task(*sides, multi=multi, unit="heartbeat")


def run(task: Task, settings: Boosting = FAST, *, seed: int = 41) -> Outcome:
    return boost(task, settings, kind="heartbeats", seed=seed)


def whole(x: Any, target: Any, settings: Boosting, leaf: int, *, multi: bool = False, seed: int = 41) -> Stages:
    """The model after its last round."""
    return list(fit(x, target, settings, leaf, multi=multi, seed=seed))[-1]


def test_windows_of_another_rate_are_interpolated_between_their_samples() -> None:
    line = np.arange(5, dtype=np.float16)[None, :, None] * np.array([1, -2], np.float16)  # (1, 5, 2) at 100 Hz
    found = at_250_hz(line, 100)
    assert found.shape == (1, 12, 2)
    np.testing.assert_allclose(found[0, :, 0], np.linspace(0, 4, 12), rtol=1e-6)
    np.testing.assert_allclose(found[0, :, 1], np.linspace(0, -8, 12), rtol=1e-6)
    assert at_250_hz(line, 250) is line


def test_it_learns_what_the_features_show() -> None:
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    outcome = run(task)
    np.testing.assert_array_equal(outcome.probability.argmax(axis=1), [0, 1, 2] * 5)
    np.testing.assert_allclose(outcome.probability.sum(axis=1), 1.0, rtol=1e-5)
    assert outcome.probability.dtype == np.float32
    assert max(outcome.training["validation_f1"]) == 1.0


def test_several_labels_are_a_model_each() -> None:
    labels = [[0, 1], [1], [], [0]]
    task = task_of(labels * 8, labels * 2, labels, classes=4, multi=True)  # class 2 and 3 never
    probability = run(task).probability
    np.testing.assert_array_equal(probability > 0.5, task.test.target.numpy() > 0)
    np.testing.assert_array_equal(probability[:, 2:], 0.0)
    everywhere = task_of([[0]] * 4, [[0]], [[0], [1]], classes=2, multi=True)
    np.testing.assert_array_equal(run(everywhere).probability, [[1.0, 0.0], [1.0, 0.0]])


def test_a_class_without_labelled_windows_has_probability_zero() -> None:
    probability = run(task_of([[0], [2]] * 10, THREE, THREE)).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-5)
    assert probability.argmax(axis=1)[[0, 2]].tolist() == [0, 2]


@pytest.mark.parametrize("labelled", [1, 5])
def test_one_class_alone_is_always_predicted(labelled: int) -> None:
    outcome = run(task_of([[1]] * labelled, THREE, THREE))
    np.testing.assert_array_equal(outcome.probability, [[0.0, 1.0, 0.0]] * 3)
    assert outcome.probability.dtype == np.float32


def test_ten_windows_are_enough() -> None:
    task = task_of([[0], [1]] * 5, [[0], [1]] * 10, [[0], [1]] * 10, classes=2)
    probability = run(task, Boosting(iterations=50, feature_share=0.1)).probability
    assert (probability.argmax(axis=1) == [0, 1] * 10).mean() > 0.7


def test_an_empty_test_set_has_no_prediction() -> None:
    assert run(task_of(THREE * 4, THREE, [])).probability.shape == (0, 3)
    assert run(task_of(THREE * 4, THREE, [], multi=True)).probability.shape == (0, 3)


def test_the_seed_decides_and_nothing_else() -> None:
    task = task_of(THREE * 10, THREE * 3, THREE * 3)
    task.train.target[:] = task.train.target[torch.randperm(30, generator=torch.Generator().manual_seed(0))]
    first, again, other = run(task), run(task), run(task, seed=42)
    np.testing.assert_array_equal(first.probability, again.probability)
    assert first.training["validation_f1"] == again.training["validation_f1"]
    assert (first.probability != other.probability).any()


@pytest.mark.parametrize(
    ("knob", "value"),
    [("learning_rate", 0.5), ("leaves", 2), ("leaf_windows", [12]), ("l2", 50.0), ("feature_share", 0.5)],
)
def test_a_setting_acts(knob: str, value: object) -> None:
    random = np.random.default_rng(0)
    x, target = random.normal(size=(60, 8)).astype(np.float32), np.eye(3, dtype=np.int64)[random.integers(3, size=60)]
    one, other = (
        list(whole(x, target, settings, settings.leaf_windows[0])(x))[-1]
        for settings in (FAST, FAST.model_copy(update={knob: value}))
    )
    assert not np.array_equal(one, other)


def test_all_iterations_are_done_on_many_windows_and_with_any_seed() -> None:
    """scikit-learn would hold out windows of more than 10 000, and takes seeds of 32 bits."""
    random = np.random.default_rng(0)
    x, target = (
        random.normal(size=(10_001, 1)).astype(np.float32),
        np.eye(2, dtype=np.int64)[random.integers(2, size=10_001)],
    )
    settings = Boosting(iterations=30, leaves=2, feature_share=1.0)
    assert len(list(whole(x, target, settings, 20)(x[:1]))) == 30
    for seed in range(12):
        next(whole(x[:40], target[:40], Boosting(iterations=1), 5, seed=seed)(x[:1]))


@pytest.mark.parametrize("multi", [False, True])
def test_rounds_give_the_bits_of_a_model_fitted_at_once(multi: bool) -> None:
    random = np.random.default_rng(0)
    x, target = random.normal(size=(60, 8)).astype(np.float32), np.eye(3, dtype=np.int64)[random.integers(3, size=60)]
    target[:, 2] |= int(multi)  # a class that all have
    one, other = (
        [(len(list(stages(x[:0]))), list(stages(x))) for stages in fit(x, target, settings, 2, multi=multi, seed=41)]
        for settings in (FAST.model_copy(update={"patience": patience}) for patience in (5, 12))
    )
    assert [empty for empty, _ in one] == [len(found) for _, found in one] == [5, 10, 12]
    assert [len(found) for _, found in other] == [12]
    np.testing.assert_array_equal(one[-1][1], other[0][1])


@pytest.mark.parametrize(
    ("scores", "done", "best"),
    [
        ([0.1, 0.3, 0.2, 0.3], 4, 2),  # the second round only comes up to the first
        ([0.1, 0.3, 0.2, 0.31, 0.3, 0.3, 0.9], 6, 4),
        ([0.1, 0.3, 0.4, 0.3, 0.3, 0.5, 0.5], 7, 6),  # the first of a round is better
        ([0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.5], 7, 7),  # the last round is shorter
    ],
)
def test_a_round_without_a_better_score_is_the_last(
    scores: list[float], done: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = iter(scores)
    monkeypatch.setattr(boosting_module, "validation_score", lambda probability, task: next(coming))
    task = task_of(THREE * 10, THREE, THREE * 2)
    outcome = run(task, FAST.model_copy(update={"iterations": 7, "patience": 2}))
    assert outcome.training["validation_f1"] == scores[:done]
    assert outcome.training["best_iteration"] == best
    x, target = beat_features(task.train.signal.numpy()), task.train.target.numpy().astype(np.int64)
    stages = list(whole(x, target, FAST, 2)(beat_features(task.test.signal.numpy())))
    np.testing.assert_array_equal(outcome.probability, stages[best - 1])


def test_the_seconds_are_those_of_the_boosting() -> None:
    started = time.perf_counter()
    seconds = run(task_of(THREE * 4, THREE, THREE)).training["seconds"]
    assert 0 < seconds < time.perf_counter() - started


def test_the_first_of_the_best_iterations_and_leaves_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(THREE * 10, THREE, THREE * 2)
    coming = iter([0.1, 0.2, 0.2, 0.2, 0.5, 0.5])
    monkeypatch.setattr(boosting_module, "validation_score", lambda probability, task: next(coming))
    outcome = run(task, Boosting(iterations=3, leaf_windows=[9, 2], feature_share=0.1))
    assert outcome.training["leaf_windows"] == 2
    assert outcome.training["best_iteration"] == 2
    assert outcome.training["validation_f1"] == [0.2, 0.5, 0.5]
    rising = iter([0.1, 0.2])
    monkeypatch.setattr(boosting_module, "validation_score", lambda probability, task: next(rising))
    shorter = run(task, Boosting(iterations=2, leaf_windows=[2], feature_share=0.1))
    np.testing.assert_array_equal(outcome.probability, shorter.probability)


def test_the_test_set_has_no_say() -> None:
    one, other = (task_of(THREE * 6, THREE * 2, test) for test in (THREE * 2, [[2]] * 6))
    first, second = run(one).training, run(other).training
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_boosting_takes_the_threads_of_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its library is loaded after the threads of the cell were set, and so is not bound by them."""
    counts: list[int] = []

    def counted(*given: Any, **settings: Any) -> Any:
        counts.extend(found["num_threads"] for found in threadpool_info() if found["user_api"] == "openmp")
        return fit(*given, **settings)

    monkeypatch.setattr(boosting_module, "fit", counted)
    task = task_of(THREE * 10, THREE * 3, THREE * 5)
    run(task)  # loads the library
    counts.clear()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    with threadpool_limits(2, user_api="openmp"):
        run(task)
    assert len(counts) > 1
    assert set(counts) == {1}
