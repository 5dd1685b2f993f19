"""Every evaluation runs by the same contract, with its own settings, and costs what is expected of it.

Nearest neighbours: the votes by hand, several labels, ties, and the number of neighbours by validation.

Each name has its evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.task import Task
from benchmark.results.names import EVALUATIONS, SUPERVISED, VALIDATION
from benchmark.training import evaluations, probes
from benchmark.training.evaluations import EvaluationInput
from benchmark.training.finetune import Outcome, finetune, supervise
from benchmark.training.probes import EvaluationCache, linear_probe, votes
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import RandomInit

MakeTask = Callable[..., Task]
MakeConfig = Callable[..., Config]
THREE = [[0], [1], [2]]
SETTINGS = {
    "finetune.epochs": 2,
    "finetune.batch_size": 8,
    "linear.strengths": [0.3],
    "supervised.epochs": 2,
    "supervised.batch_size": 8,
}


@pytest.fixture
def task(make_task: MakeTask) -> Task:
    return make_task(THREE * 8, THREE * 2, THREE * 4, noise=2.0)


@pytest.fixture
def judged(task: Task, small_config: MakeConfig) -> Callable[..., EvaluationInput]:
    def make(seed: int = 41, **changed: object) -> EvaluationInput:
        torch.manual_seed(0)
        encoder = Dilated(DilatedConfig(hidden=8, depth=2, output=16))
        config = small_config(SETTINGS | {name.replace("__", "."): value for name, value in changed.items()})
        return EvaluationInput(encoder, task, config, RandomInit, seed, "float32", EvaluationCache())

    return make


@pytest.mark.parametrize("name", [*EVALUATIONS, SUPERVISED, VALIDATION])
def test_each_predicts_every_test_window_and_leaves_the_encoder(
    name: str, judged: Callable[..., EvaluationInput]
) -> None:
    given = judged()
    before = {key: value.clone() for key, value in given.encoder.state_dict().items()}
    outcome = evaluations.EVALUATIONS[name].run(given)
    assert outcome.probability.shape == (12, 3)
    np.testing.assert_allclose(outcome.probability.sum(1), 1, rtol=1e-4)
    assert all(torch.equal(value, before[key]) for key, value in given.encoder.state_dict().items())


def test_seeds_precision_and_settings_are_those_it_was_given(judged: Callable[..., EvaluationInput]) -> None:
    seven = judged(7)
    tuned = seven.config.finetuning(RandomInit)
    expected = {
        "finetune": finetune(seven.encoder, seven.task, tuned, seed=7, precision="float32"),
        SUPERVISED: supervise(seven.encoder, seven.task, seven.config.supervised, seed=7, precision="float32"),
        "linear": linear_probe(seven.encoder, seven.task, [0.3], precision="float32", cache=EvaluationCache()),
    }
    for name, outcome in expected.items():
        np.testing.assert_array_equal(evaluations.EVALUATIONS[name].run(seven).probability, outcome.probability)


def test_fine_tuning_has_the_settings_of_its_method(judged: Callable[..., EvaluationInput]) -> None:
    evaluation = evaluations.EVALUATIONS["finetune"]
    plain = judged()
    assert evaluation.further(plain.config, RandomInit) == {"encoder_dropout": 0.0}
    dropped = judged(finetune__encoder_dropout=0.1)
    assert evaluation.further(dropped.config, RandomInit) == {"encoder_dropout": 0.1}
    assert evaluation.settings(plain.config) == evaluation.settings(dropped.config), "it has an entry of its own"
    assert {"epochs", "lr", "batch_size", "least_updates"} <= set(evaluation.settings(plain.config))
    elsewhere = {"beats_per_trial", "encoder_dropout"}
    assert not elsewhere & set(evaluation.settings(plain.config)), "the key has them in other entries"


TRAIN = np.array([[1, 0], [2, 2], [0, 3], [-1, 0]], np.float32)
TARGET = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], np.float32)


@pytest.fixture
def judge(small_config: Callable[..., Config]) -> Callable[..., Outcome]:
    def make(task: Task, **settings: Any) -> Outcome:
        torch.manual_seed(0)
        encoder = Dilated(DilatedConfig(hidden=8, depth=2, output=16))
        config = small_config({f"knn.{name}": value for name, value in settings.items()})
        return evaluations.EVALUATIONS["knn"].run(
            EvaluationInput(encoder, task, config, RandomInit, 41, "float32", EvaluationCache())
        )

    return make


def test_votes_are_those_of_the_nearest_by_angle() -> None:
    (one, two) = votes(TRAIN, TARGET, np.array([[5, 1]], np.float32), [1, 2], 0.5)
    near, next_near = 5 / np.sqrt(26), 6 / np.sqrt(26) / np.sqrt(2)
    a, b = np.exp(near / 0.5), np.exp(next_near / 0.5)
    np.testing.assert_allclose(one, [[1, 0, 0]])
    np.testing.assert_allclose(two, [[a / (a + b), b / (a + b), 0]], rtol=1e-5)


def test_several_labels_each_get_their_share_of_the_votes() -> None:
    (found,) = votes(TRAIN, TARGET, np.array([[0, 1]], np.float32), [4], 1.0)
    weight = np.exp([0.0, np.sqrt(0.5), 1.0, 0.0])
    np.testing.assert_allclose(found, (weight / weight.sum() @ TARGET)[None], rtol=1e-5)


def test_windows_of_known_classes_are_found(judge: Callable[..., Outcome], make_task: MakeTask) -> None:
    task = make_task(THREE * 8, THREE * 2, THREE * 4)
    outcome = judge(task)
    assert outcome.probability.argmax(1).tolist() == [0, 1, 2] * 4
    assert outcome.probability.dtype == np.float32
    assert outcome.training["seconds"] > 0


def test_the_first_best_number_of_neighbours_is_taken_and_none_exceeds_the_windows(
    judge: Callable[..., Outcome], make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = iter([0.2, 0.6, 0.6])
    monkeypatch.setattr(probes, "validation_score", lambda probability, task: next(coming))
    outcome = judge(make_task(THREE * 2, THREE, THREE), neighbours=[1, 3, 50, 100])
    assert (outcome.training["neighbours"], outcome.training["validation_f1"]) == (3, [0.2, 0.6, 0.6])


def test_empty_sides_and_features_of_zeros_are_no_error(judge: Callable[..., Outcome], make_task: MakeTask) -> None:
    assert judge(make_task(THREE * 2, THREE, [])).probability.shape == (0, 3)
    (found,) = votes(np.zeros((2, 3), np.float32), TARGET[:2], np.zeros((1, 3), np.float32), [2], 0.07)
    np.testing.assert_allclose(found, [[0.5, 0.5, 0]])


def test_every_name_has_its_evaluation() -> None:
    assert set(evaluations.EVALUATIONS) == {*EVALUATIONS, SUPERVISED, VALIDATION}
