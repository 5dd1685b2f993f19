"""Every evaluation runs by the same contract, with its own settings, and costs what is expected of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from benchmark.config.config import Config
from benchmark.data.tasks.task import Task
from benchmark.results.names import EVALUATIONS, SUPERVISED, VALIDATION
from benchmark.training.evaluations.contract import Amounts, Judged, Pool
from benchmark.training.evaluations.registry import evaluation_named
from benchmark.training.finetune import finetune
from benchmark.training.linear import Known, linear_probe
from benchmark.training.supervised import supervise
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.random_init import RandomInit

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
def judged(task: Task, small_config: MakeConfig) -> Callable[..., Judged]:
    def make(seed: int = 41, **changed: object) -> Judged:
        torch.manual_seed(0)
        encoder = Dilated(DilatedConfig(hidden=8, depth=2, output=16))
        config = small_config(SETTINGS | {name.replace("__", "."): value for name, value in changed.items()})
        return Judged(encoder, task, config, RandomInit, seed, "float32", Known())

    return make


@pytest.mark.parametrize("name", [*EVALUATIONS, SUPERVISED, VALIDATION])
def test_each_predicts_every_test_window_and_leaves_the_encoder(name: str, judged: Callable[..., Judged]) -> None:
    given = judged()
    before = {key: value.clone() for key, value in given.encoder.state_dict().items()}
    outcome = evaluation_named(name).run(given)
    assert outcome.probability.shape == (12, 3)
    np.testing.assert_allclose(outcome.probability.sum(1), 1, rtol=1e-4)
    assert all(torch.equal(value, before[key]) for key, value in given.encoder.state_dict().items())


def test_seeds_precision_and_settings_are_those_it_was_given(judged: Callable[..., Judged]) -> None:
    seven = judged(7)
    tuned = seven.config.finetuning(RandomInit)
    expected = {
        "finetune": finetune(seven.encoder, seven.task, tuned, seed=7, precision="float32"),
        SUPERVISED: supervise(seven.encoder, seven.task, seven.config.supervised, seed=7, precision="float32"),
        "linear": linear_probe(seven.encoder, seven.task, [0.3], precision="float32", known=Known()),
    }
    for name, outcome in expected.items():
        np.testing.assert_array_equal(evaluation_named(name).run(seven).probability, outcome.probability)


def test_fine_tuning_has_the_settings_of_its_method(judged: Callable[..., Judged]) -> None:
    evaluation = evaluation_named("finetune")
    plain = judged()
    assert evaluation.further(plain.config, RandomInit) == {}
    dropped = judged(finetune__encoder_dropout=0.1)
    assert evaluation.further(dropped.config, RandomInit) == {"encoder_dropout": 0.1}
    assert evaluation.settings(plain.config) == evaluation.settings(dropped.config), "it has an entry of its own"
    assert {"epochs", "lr", "batch_size", "least_updates"} <= set(evaluation.settings(plain.config))
    elsewhere = {"beats_per_trial", "windows_per_trial", "encoder_dropout"}
    assert not elsewhere & set(evaluation.settings(plain.config)), "the key has them in other entries"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # each window once, and 1.5 passes for each labelled window to fit the probe; FIX's grid takes 12
        ("linear", 100 * 2.5 + 2 * 40),
        (VALIDATION, 100 * 2.5 + 2 * 40),
        ("few-shot", 100 * 2.5 + 2 * 40),
        ("linear-fix", 100 * 13 + 2 * 40),
        # a tenth of a pass to search the neighbours of each window
        ("knn", (100 + 2 * 40) * 1.1),
        # three passes an update, and the validation windows in each of two epochs; 30 updates of 8 pass over 240
        ("finetune", 2 * (3 * 240 + 40) + 40),
        (SUPERVISED, 2 * 3 * 100 + 40),
    ],
)
def test_the_expected_cost_is_in_passes_of_the_encoder(
    name: str, expected: float, judged: Callable[..., Judged]
) -> None:
    config = judged(finetune__least_updates=30).config
    assert evaluation_named(name).passes(config, Amounts(labelled=100, held_out=40)) == pytest.approx(expected)


def test_fine_tuning_of_few_windows_has_batches_of_all_and_of_many_one_pass(judged: Callable[..., Judged]) -> None:
    passes, config = evaluation_named("finetune").passes, judged(finetune__least_updates=30).config
    assert passes(config, Amounts(labelled=5, held_out=0)) == 2 * 3 * 30 * 5
    assert passes(config, Amounts(labelled=1000, held_out=0)) == 2 * 3 * 1000


def test_a_ratio_labels_its_share_of_the_windows() -> None:
    assert evaluation_named("linear").labelled(Pool(windows=200, recordings=100, classes=3), 0.1) == 20
