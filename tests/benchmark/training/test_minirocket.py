"""MiniRocket: what the row learns from features of aeon, which compiles them once per installation."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from benchmark.config.schema import MiniRocket
from benchmark.data.task import Task, Windows
from benchmark.training.minirocket import calibrate, minirocket

NEEDS_AEON = pytest.mark.skipif(find_spec("aeon") is None, reason="needs aeon, the extra `minirocket`")
SMALL = MiniRocket(features=336, dilations=4)


def task_of(labels: list[list[int]], *, multi: bool = False, classes: int = 3) -> Task:
    """Windows of noise; one of class c has a short wave in lead c somewhere, up in all of them or up and down."""

    def side(seed: int) -> Windows:
        random = np.random.default_rng(seed)
        target = np.zeros((len(labels), classes), np.float32)
        signal = random.normal(0, 0.3, size=(len(labels), 60, 3))
        for row, labelled, present in zip(signal, target, labels, strict=True):
            labelled[present] = 1
            for lead in range(3):
                start = random.integers(10, 40)
                wave = np.array([2.0, 2.0, -2.0, -2.0] if lead in present else [2.0, -2.0, 2.0, -2.0])
                row[start : start + 4, lead] += wave
        names = np.array([f"{seed}-{index}" for index in range(len(labels))], dtype=np.str_)
        return Windows(torch.from_numpy(signal).half(), torch.from_numpy(target), names, names)

    return Task(side(0), side(1), side(2), multi=multi, unit="heartbeat")


@NEEDS_AEON
@pytest.mark.parametrize("multi", [False, True])
def test_it_learns_a_shape_whose_samples_have_the_same_distribution(multi: bool) -> None:
    labels = [[0, 1], [1], [2], [0]] if multi else [[0], [1], [2]]
    outcome = minirocket(task_of(labels * 30, multi=multi), SMALL, seed=41)
    truth = task_of(labels * 30, multi=multi).test.truth()
    guess = outcome.probability > 0.5 if multi else np.eye(3)[outcome.probability.argmax(axis=1)]
    assert (guess == truth).mean() > 0.85  # by chance two thirds at most
    assert outcome.probability.dtype == np.float32
    assert len(outcome.training["validation_f1"]) == len(SMALL.penalties)
    again, other = (minirocket(task_of(labels * 30, multi=multi), SMALL, seed=seed) for seed in (41, 42))
    np.testing.assert_array_equal(outcome.probability, again.probability)
    assert (outcome.probability != other.probability).any()


def test_the_slope_has_the_lowest_cross_entropy() -> None:
    task = task_of([[0, 1], [1], [2], [0]] * 30, multi=True)
    truth = task.validation.target
    scores = 4 * truth - 2 + 3 * torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))  # (n, C)
    slope = calibrate(scores, task)
    near = [float(F.binary_cross_entropy_with_logits(scores * slope * by, truth)) for by in (0.9, 1.0, 1.1)]
    assert near[1] == min(near)


@NEEDS_AEON
@pytest.mark.parametrize("multi", [False, True])
def test_a_class_without_labelled_windows_has_probability_zero(multi: bool) -> None:
    task = task_of([[0], [2]] * 20, multi=multi)
    probability = minirocket(
        replace(task, validation=task_of([[0], [1], [2]] * 5).validation), SMALL, seed=1
    ).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)


def test_a_class_with_all_labelled_windows_has_probability_one() -> None:
    alone = minirocket(task_of([[1]]), SMALL, seed=1).probability
    np.testing.assert_array_equal(alone, [[0.0, 1.0, 0.0]])
