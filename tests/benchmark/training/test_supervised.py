"""Training from scratch: the recipe of the benchmark, the same numbers again, a clear stop on a loss of NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.config.sections.evaluate import Supervised
from benchmark.data.tasks.task import Task
from benchmark.training import supervised as module
from benchmark.training.finetune import Outcome
from benchmark.training.pretrain import TrainingStopped
from benchmark.training.supervised import BenchmarkClassifier, new_model, supervise
from methods.encoders.dilated import Dilated, DilatedConfig

MakeTask = Callable[..., Task]
QUICK = Supervised(epochs=6, batch_size=16)


@pytest.fixture
def encoder() -> Dilated:
    torch.manual_seed(0)
    return Dilated(DilatedConfig(hidden=8, depth=2, output=16))


def run(encoder: Dilated, task: Task, settings: Supervised = QUICK, seed: int = 41) -> Outcome:
    return supervise(encoder, task, settings, seed=seed, precision="float32")


def test_the_recipe_is_that_of_the_ptb_xl_benchmark() -> None:
    assert Supervised().model_dump() == {
        "epochs": 50, "lr": 1e-2, "weight_decay": 1e-2, "batch_size": 128, "head_hidden": 128, "dropout": 0.5,
    }  # fmt: skip


def test_the_learning_rate_rises_and_falls_once_and_the_momentum_the_other_way(
    encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, tuple[float, float], float]] = []

    class Watched(torch.optim.AdamW):
        def step(self, closure: None = None) -> None:  # type: ignore[override]
            group = self.param_groups[0]
            seen.append((group["lr"], group["betas"], group["weight_decay"]))
            super().step(closure)

    monkeypatch.setattr(module.torch.optim, "AdamW", Watched)
    run(encoder, make_task([[0], [1], [2]] * 16, [[0]], [[0]]), Supervised(epochs=10, batch_size=16, weight_decay=0.03))
    rates = [rate for rate, _, _ in seen]
    top = int(np.argmax(rates))
    assert len(seen) == 30
    assert (rates[0], rates[top]) == (pytest.approx(1e-2 / 25), pytest.approx(1e-2))
    assert top == round(0.3 * 30) - 1
    assert rates[-1] < 1e-5
    assert sorted(rates[:top]) == rates[:top]
    assert sorted(rates[top:], reverse=True) == rates[top:]
    assert seen[0][1] == (pytest.approx(0.95), 0.99)
    assert seen[top][1] == (pytest.approx(0.85), 0.99)
    assert {decay for _, _, decay in seen} == {0.03}


def test_the_head_sees_maximum_and_mean_over_time(encoder: Dilated) -> None:
    model = new_model(encoder, 3, QUICK, seed=1).eval()
    x = torch.randn(4, 40, 12)
    steps = encoder.eval()(x)
    expected = model.head(torch.cat([steps.amax(1), steps.mean(1)], 1))
    torch.testing.assert_close(model(x), expected)
    kinds = [type(layer).__name__ for layer in model.head]
    assert kinds == ["BatchNorm1d", "Dropout", "Linear", "ReLU", "BatchNorm1d", "Dropout", "Linear"]
    assert [layer.p for layer in model.head if isinstance(layer, torch.nn.Dropout)] == [0.25, 0.5]


@pytest.mark.parametrize("multi", [False, True])
def test_it_learns_what_is_there_and_leaves_the_encoder(encoder: Dilated, make_task: MakeTask, multi: bool) -> None:
    labels = [[0, 1], [1], [2]] if multi else [[0], [1], [2]]
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    task = make_task(labels * 24, labels * 2, labels * 8, multi=multi)
    outcome = run(encoder, task, Supervised(epochs=12, batch_size=16))
    wrong = (outcome.probability > 0.5) != (task.test.target.numpy() > 0)
    assert wrong.mean() < 0.1
    assert set(outcome.training) == {"loss", "validation_f1", "seconds"}
    assert len(outcome.training["loss"]) == 12
    assert outcome.training["loss"][-1] < outcome.training["loss"][0]
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


def test_the_same_seed_gives_the_same_bits_and_another_does_not(encoder: Dilated, make_task: MakeTask) -> None:
    task = make_task([[0], [1], [2]] * 8, [[0]], [[0], [1], [2]], noise=2.0)
    first, again, other = run(encoder, task), run(encoder, task), run(encoder, task, seed=42)
    np.testing.assert_array_equal(first.probability, again.probability)
    assert not np.array_equal(first.probability, other.probability)


def test_the_loss_of_an_epoch_is_the_mean_of_its_updates(
    encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    coming, step = iter([1.0, 2.0, 6.0, 0.5, 0.5, 2.0]), module.update

    def told(*given: Any) -> torch.Tensor:
        step(*given)
        return torch.tensor(next(coming))

    monkeypatch.setattr(module, "update", told)
    outcome = run(encoder, make_task([[0], [1]] * 24, [[0]], [[0]]), Supervised(epochs=2, batch_size=16))
    assert outcome.training["loss"] == [3.0, 1.0]


def test_a_loss_that_is_no_number_stops_it_with_the_remedy(
    encoder: Dilated, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = BenchmarkClassifier.forward
    monkeypatch.setattr(BenchmarkClassifier, "forward", lambda self, x: forward(self, x) * float("nan"))
    with pytest.raises(TrainingStopped, match=r"^supervised: the loss was nan in epoch 1; lower --set supervised.lr="):
        run(encoder, make_task([[0], [1]] * 8, [[0]], [[0]]))
