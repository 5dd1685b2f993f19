"""Every evaluation runs by the same contract, with the settings that it was given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.task import Task
from benchmark.results.names import EVALUATIONS, SUPERVISED, VALIDATION
from benchmark.training import evaluations, probes
from benchmark.training.finetune import Outcome
from benchmark.training.probes import EvaluationCache
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import RandomInit

MakeTask = Callable[..., Task]
MakeConfig = Callable[..., Config]
THREE = [[0], [1], [2]]
SETTINGS = {
    "finetune.epochs": 2,
    "finetune.batch_size": 8,
    "linear.strengths": [0.3],
    "knn.neighbours": [1, 3, 50, 100],
    "supervised.epochs": 2,
    "supervised.batch_size": 8,
}


@pytest.fixture
def task(make_task: MakeTask) -> Task:
    return make_task(THREE * 8, THREE * 2, THREE * 4, noise=2.0)


@pytest.fixture
def encoder() -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=8, depth=2, output=16))


@pytest.fixture
def judged(task: Task, encoder: Dilated, small_config: MakeConfig) -> Callable[[str], Outcome]:
    others = {"method": RandomInit, "seed": 41, "precision": "float32", "cache": EvaluationCache()}
    return lambda name: evaluations.evaluate(name, encoder, task, small_config(SETTINGS), **others)


@pytest.mark.parametrize("name", [*EVALUATIONS, SUPERVISED, VALIDATION])
def test_each_predicts_every_test_window_and_leaves_the_encoder(
    name: str, encoder: Dilated, judged: Callable[[str], Outcome]
) -> None:
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    outcome = judged(name)
    assert outcome.probability.shape == (12, 3)
    np.testing.assert_allclose(outcome.probability.sum(1), 1, rtol=1e-4)
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())


def test_the_first_best_number_of_neighbours_is_taken_and_none_exceeds_the_windows(
    judged: Callable[[str], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    coming = iter([0.2, 0.6, 0.6])  # of 1, 3, and 24 in place of 50 and 100
    monkeypatch.setattr(probes, "validation_score", lambda probability, task: next(coming))
    outcome = judged("knn")
    assert (outcome.training["neighbours"], outcome.training["validation_f1"]) == (3, [0.2, 0.6, 0.6])
