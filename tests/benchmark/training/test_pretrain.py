"""The training loop: resumed runs give the same bits; budgets, schedules, optimisers; what stops it, with a remedy."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmark.config.schema import Budget, Pretrain
from benchmark.data.corpus import EpochShape
from benchmark.process import Stopped, stop
from benchmark.results.files import unseal
from benchmark.training.checkpoint import History
from benchmark.training.pretrain import (
    TrainingStopped,
    epochs_bought,
    learning_rate,
    make_optimiser,
)
from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.byol import BYOL
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.pmq import PMQ
from tests.benchmark.training.short import EPOCHS, RECIPE, TRIALS, Interrupted, build, train


def same(a: PretrainMethod, b: PretrainMethod) -> bool:
    one, other = a.state_dict(), b.state_dict()
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


def saved_in(checkpoint: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(
        io.BytesIO(unseal(checkpoint.parent.name, checkpoint.read_bytes())), weights_only=True
    )
    return state


@cache
def whole_run(name: str) -> tuple[PretrainMethod, History]:
    """A method after all epochs, and their history; read alone."""
    with TemporaryDirectory() as folder:
        method = build(name)
        torch.manual_seed(1)
        return method, train(method, Path(folder) / "checkpoint")


@pytest.mark.parametrize("name", ["pmq", "pmq-released", "byol", "comet", "etp"])
def test_an_interrupted_run_goes_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    """Stopped after its first update, within an epoch and at its end; killed within the last; all kinds of state."""
    whole, history = whole_run(name)
    last_epoch = (EPOCHS - 1) * (history.updates // EPOCHS)
    done = 0
    for seed, update in enumerate((1, 6, 8)):
        steps: list[int] = []
        torch.manual_seed(seed)
        with pytest.raises(Stopped):
            train(build(name), tmp_path / "file", terminate_at=update, steps=steps)
        stop.clear()
        assert steps == list(range(done + 1, update + 1))
        done = update
    with pytest.raises(Interrupted):
        train(build(name), tmp_path / "file", stop_at=max(done, last_epoch) + 1)
    saved = saved_in(tmp_path / "file")
    assert len(saved["history"]["loss"]) == EPOCHS - 1
    resumed = build(name)
    again = train(resumed, tmp_path / "file")
    assert (again.loss, again.health) == (history.loss, history.health)
    assert same(resumed, whole)
    assert not same(build(name), whole)


def test_a_last_epoch_may_end_early(tmp_path: Path) -> None:
    whole, part = build("moco"), build("moco")
    constant = replace(RECIPE, schedule="constant")
    expected = train(whole, tmp_path / "whole", recipe=constant)
    history = train(part, tmp_path / "part", epochs=1.25, recipe=constant)
    assert (history.updates, len(history.loss), len(history.health)) == (5, 2, 3)
    assert history.loss[0] == expected.loss[0]
    with pytest.raises(Interrupted):
        train(build("moco"), tmp_path / "cut", epochs=1.25, recipe=constant, stop_at=5)
    resumed = build("moco")
    assert train(resumed, tmp_path / "cut", epochs=1.25, recipe=constant).loss == history.loss
    assert same(resumed, part)


def test_a_damaged_checkpoint_or_one_of_another_pretraining_starts_over_to_the_same_bits(tmp_path: Path) -> None:
    whole, history = whole_run("pmq")
    with pytest.raises(Interrupted):
        train(build("pmq"), tmp_path / "one" / "checkpoint.pt", stop_at=history.updates - 1)
    content = (tmp_path / "one" / "checkpoint.pt").read_bytes()
    half = len(content) // 2
    flipped = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
    for folder, damaged in (("one", flipped), ("other", content)):
        file = tmp_path / folder / "checkpoint.pt"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(damaged)
        again = build("pmq")
        assert train(again, file).loss == history.loss
        assert same(again, whole)


class Watched(PretrainMethod):
    """Notes what the trainer does with it."""

    name = "watched"
    title = "Watched"

    def __init__(self, bad_at: int | None = None) -> None:
        torch.manual_seed(0)
        super().__init__(Dilated(DilatedConfig(hidden=4, depth=1, output=4)), MethodConfig())
        self.calls: list[str] = []
        self.seen: list[int] = []
        self.draws: list[float] = []
        self.bad_at = bad_at

    def begin(self, updates: int) -> None:
        self.calls.append(f"begin {updates}")

    def positives(self, batch: Batch) -> Tensor:
        self.calls.append("positives")
        return torch.ones(len(batch.x1), 3, dtype=torch.bool)

    def forward(self, batch: Batch) -> Tensor:
        self.calls.append("forward")
        self.seen += batch.trial.tolist()
        self.draws.append(float(torch.rand(())))
        bad = len(self.draws) - 1 == self.bad_at
        return self.encoder.pooled(batch.x1).square().mean() * (float("nan") if bad else 1.0)

    def after_step(self) -> None:
        self.calls.append("after")


def test_the_trainer_keeps_the_contract(tmp_path: Path) -> None:
    """Draws depend on the step and not on what was drawn before; a resumed method is told to begin again.

    Positives are counted in the last batch of an epoch.
    """
    first, second, resumed = (Watched().eval() for _ in range(3))
    epoch_calls = [*["forward", "after"] * 3, "positives", "forward", "after"]
    epochs: list[int] = []
    torch.manual_seed(1)
    history = train(first, tmp_path / "first", on_epoch=lambda history: epochs.append(len(history.loss)))
    assert first.calls == [f"begin {4 * EPOCHS}", *epoch_calls * EPOCHS]
    assert history.seconds > 0
    assert [health["positives"] for health in history.health] == [None, *[3.0] * EPOCHS]
    assert sorted(first.seen) == sorted(list(range(TRIALS)) * 2 * EPOCHS)  # two windows of each pseudo-trial
    assert len(set(first.draws)) == len(first.draws)
    assert first.training
    assert epochs == list(range(1, EPOCHS + 1))
    torch.manual_seed(2)
    train(second, tmp_path / "second")
    assert first.draws == second.draws
    with pytest.raises(Interrupted):
        train(Watched(), tmp_path / "file", stop_at=5)
    train(resumed, tmp_path / "file")
    assert resumed.calls == [f"begin {4 * EPOCHS}", *epoch_calls * (EPOCHS - 1)]


def test_a_loss_that_is_not_finite_is_in_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark.training.pretrain.CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(TrainingStopped) as caught:
        train(Watched(bad_at=6), tmp_path / "file")
    assert "nan at update 3 of epoch 2" in str(caught.value)
    assert "--set methods.watched.recipe.lr=0.0001" in str(caught.value)
    saved = saved_in(tmp_path / "file")
    assert len(saved["history"]["loss"]) == 1  # the epoch before
    assert saved["epoch"]["step"] == 2
    assert all(value.isfinite().all() for value in saved["method"].values())


def test_the_optimiser_has_the_settings_of_the_recipe() -> None:
    for name, kind in (("adamw", torch.optim.AdamW), ("adam", torch.optim.Adam)):
        optimiser = make_optimiser(build("byol"), Recipe(name, lr=0.5, weight_decay=0.25))  # type: ignore[arg-type]
        assert type(optimiser) is kind
        assert [(group["lr"], group["weight_decay"]) for group in optimiser.param_groups] == [(0.5, 0.25)]


def test_the_learning_rate_of_each_schedule() -> None:
    recipe = Recipe(lr=0.5)
    rates = [learning_rate(recipe, step, 100) for step in range(100)]
    assert rates[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert rates[5] == 0.5
    assert rates[52] == pytest.approx(0.25, abs=0.01)  # half of the cosine
    assert 0 < rates[99] < 0.001
    assert all(later < earlier for earlier, later in pairwise(rates[5:]))
    assert learning_rate(recipe, 0, 1) == 0.5
    assert learning_rate(Recipe(lr=0.5, schedule="constant"), 9, 10) == 0.5


@pytest.mark.parametrize(
    ("budget", "method", "updates"),
    [
        *(("epochs", method, 3 * 9) for method in (PMQ, BYOL)),
        ("windows", BYOL, 30),
        ("passes", PMQ, 30),
        ("passes", BYOL, 15),
    ],
)
def test_a_budget_is_equal_in_what_it_names(budget: Budget, method: type[PretrainMethod], updates: int) -> None:
    """The corpus has 100 pairs, of which an epoch of this method sees 90."""
    shape = EpochShape(9, 10)
    costs = Pretrain(budget=budget).pair_costs(method)
    assert round(epochs_bought(budget, 3, shape, 100, costs) * shape.updates) == updates
