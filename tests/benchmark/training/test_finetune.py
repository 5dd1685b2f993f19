"""Fine-tuning and training from scratch: what the seed decides, the best epoch, the hard cases of few labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.config.schema import Attention, Finetune, Supervised
from benchmark.data.task import Task, Windows
from benchmark.results.metrics import f1
from benchmark.training import finetune as module
from benchmark.training.finetune import (
    BenchmarkClassifier,
    batches_of,
    finetune,
    validation_score,
)
from benchmark.training.pretrain import TrainingStopped
from benchmark.training.probes import EvaluationCache, linear_probe
from methods.encoders.dilated import Dilated, DilatedConfig
from tests.methods.encoders.official import official_module

MakeTask = Callable[..., Task]
SETTINGS = Finetune(epochs=2, lr=[1e-2], batch_size=8, head_hidden=16)
THREE = [[0], [1], [2]]
PAIRS = [[0], [0], [1], [1], [2], [2]]
"""The two windows of each recording share its class."""


def encoder_of(seed: int = 0) -> Dilated:
    torch.manual_seed(seed)
    return Dilated(DilatedConfig(hidden=8, depth=2, output=16))


def run(task: Task, settings: Finetune = SETTINGS, *, seed: int = 41, encoder: Dilated | None = None) -> np.ndarray:
    return finetune(encoder or encoder_of(), task, settings, seed=seed, precision="float32").probability


@pytest.fixture
def task(make_task: MakeTask) -> Task:
    return make_task(THREE * 6, PAIRS, PAIRS)


@pytest.mark.parametrize(("windows", "least", "passes"), [(9, 1, 1), (20, 3, 1), (20, 4, 2), (20, 10, 4), (1, 3, 3)])
def test_a_small_subset_is_passed_over_again_in_new_orders(windows: int, least: int, passes: int) -> None:
    order = torch.cat(batches_of(windows, 8, least, seed=41, epoch=0)).tolist()
    each = max(windows, 2)  # no batch is of one window
    assert min(map(len, batches_of(windows, 8, least, seed=41, epoch=0))) > 1
    orders = [order[start : start + each] for start in range(0, len(order), each)]
    assert len(orders) == passes
    assert all(sorted(one) == sorted(orders[0]) for one in orders)
    assert len(set(map(tuple, orders))) == (passes if windows > 1 else 1)
    assert orders[0] == torch.cat(batches_of(windows, 8, 1, seed=41, epoch=0)).tolist()


def test_the_same_seed_gives_the_same_bits_whatever_was_drawn_before(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = encoder_of()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    torch.manual_seed(1)
    first = run(task, encoder=encoder)
    score = module.validation_score
    monkeypatch.setattr(module, "validation_score", lambda *given: score(*given) + 0 * float(torch.rand(())))
    torch.manual_seed(2)
    np.testing.assert_array_equal(run(task, encoder=encoder), first)
    assert not np.array_equal(run(task, seed=42, encoder=encoder), first)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize("multi", [False, True])
def test_it_learns_what_is_there(make_task: MakeTask, multi: bool) -> None:
    labels = [[0, 1], [1], [], [0, 2]] if multi else THREE
    task = make_task(labels * 6, [row for row in labels for _ in range(2)], labels * 3, multi=multi)
    probability = run(task, SETTINGS.model_copy(update={"epochs": 40}))
    assert f1(task.test.truth(), probability, multi) > (0.8 if multi else 0.99)
    if not multi:
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("scores", "rate", "best"),
    [([0.2, 0.5, 0.5, 0.4, 0.5, 0.1], 1e-3, 2), ([0.1, 0.3, 0.2, 0.4, 0.1, 0.1], 1e-2, 1), ([0.0] * 6, 1e-3, 1)],
)
def test_the_first_best_epoch_of_the_lowest_best_rate_is_kept(
    task: Task, monkeypatch: pytest.MonkeyPatch, scores: list[float], rate: float, best: int
) -> None:
    outcomes = []
    for epochs, rates, by_epoch in ((3, [1e-2, 1e-3], scores), (best, rate, [0.1, 0.2])):
        coming = iter(by_epoch)
        monkeypatch.setattr(module, "validation_score", lambda probability, task, coming=coming: next(coming))
        settings = Finetune(epochs=epochs, lr=rates, batch_size=8, head_hidden=16)
        outcomes.append(finetune(encoder_of(), task, settings, seed=41, precision="float32"))
    assert (outcomes[0].training["lr"], outcomes[0].training["best_epoch"]) == (rate, best)
    assert outcomes[0].training["validation_f1_by_lr"] == [max(scores[:3]), max(scores[3:])]
    np.testing.assert_array_equal(outcomes[0].probability, outcomes[1].probability)


def test_an_undefined_validation_score_is_zero(make_task: MakeTask) -> None:
    assert validation_score(np.zeros((2, 3), np.float32), make_task([[0]], [[], []], [[0]], multi=True)) == 0.0


def test_validation_counts_the_unit_of_the_protocol(make_task: MakeTask) -> None:
    labels = [[0], [0], [1], [1]]
    beats, recordings = (make_task(labels, labels, labels, classes=2, unit=u) for u in ("heartbeat", "recording"))
    probability = np.array([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9], [0.2, 0.8]], dtype=np.float32)
    assert validation_score(probability, beats) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert validation_score(probability, recordings) == 1.0
    of_strict = replace(recordings, criterion="log_likelihood")
    pooled = np.array([[0.65, 0.35], [0.15, 0.85]])
    assert validation_score(probability, of_strict) == pytest.approx(np.log([pooled[0, 0], pooled[1, 1]]).mean())
    certain = np.array([[1, 0]] * 4, np.float32)  # a class without a labelled window has probability 0
    assert validation_score(certain, of_strict) == pytest.approx(np.log(1e-7) / 2, rel=1e-4)


def test_a_loss_that_is_not_finite_stops_with_the_remedy(task: Task) -> None:
    signal = task.train.signal.clone()
    signal[0] = float("inf")
    with pytest.raises(TrainingStopped, match=r"nan in epoch 1; lower --set finetune.lr=0.01"):
        run(replace(task, train=replace(task.train, signal=signal)), SETTINGS.model_copy(update={"lr": [0.01, 0.1]}))
    with_excess = SETTINGS.model_copy(update={"lr": [0.01, 1e30]})
    np.testing.assert_array_equal(run(task, with_excess), run(task))


@pytest.mark.parametrize("settings", [SETTINGS, Supervised(epochs=2, batch_size=8)])
def test_masks_of_the_pretrained_views_act_in_training_alone(
    task: Task, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, float]] = []
    monkeypatch.setattr(module, "frequency_then_time", lambda *ratios: drawn.append(ratios) or torch.zeros_like)
    model = module.CLASSIFIERS[type(settings)](encoder_of(), 3, settings.model_copy(update={"masks": 0.5}))
    signal = torch.randn(4, 60, 12)
    assert drawn == [(0.05, 0.25)]
    assert model.eval()(signal).std(0).min() > 0
    model.train().head.eval()
    assert model(signal).std(0).max() == 0  # of windows that are hidden whole


def test_supervised_training_learns_what_is_there(make_task: MakeTask) -> None:
    labels = [[0, 1], [1], [2]]
    task = make_task(labels * 24, labels * 2, labels * 8, multi=True)
    outcome = finetune(encoder_of(), task, Supervised(epochs=12, batch_size=16), seed=41, precision="float32")
    wrong = (outcome.probability > 0.5) != (task.test.target.numpy() > 0)
    assert wrong.mean() < 0.1
    assert outcome.training["best_epoch"] == 12


@pytest.mark.parametrize(("name", "head"), [("resnet1d", "6."), ("xresnet1d101", "8.")])
def test_the_benchmark_head_equals_the_official_module(shared_reference: Path, name: str, head: str) -> None:
    """head: what the names of the official head begin with; its pooling and flattening are its layers 0 and 1."""
    official, state, encoder = official_module(shared_reference, name)
    model = BenchmarkClassifier(encoder, 71, Supervised())
    layers = {key.removeprefix(head): value for key, value in state.items() if key.startswith(head)}
    model.head.load_state_dict({f"{int(key[0]) - 2}{key[1:]}": value for key, value in layers.items()}, strict=True)
    pooled: list[Tensor] = []
    model.head.register_forward_pre_hook(lambda _, given: pooled.append(given[0]))
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(official["x"]).mT)  # (B, C)
    np.testing.assert_allclose(pooled[0], official["concat_pooled"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(logits, official["logits_full_head"], rtol=1e-5, atol=1e-5)
    assert sum(p.numel() for p in model.parameters()) == int(official["n_params_with_head"])


class Steps(Dilated):
    """An encoder that gives the first K leads of every sample."""

    def forward(self, x: Tensor, mask: object = None) -> Tensor:
        return x[:, :, : self.config.output]

    def pooled(self, x: Tensor, mask: object = None) -> Tensor:
        return self(x).mean(1)


def test_an_attention_head_finds_what_the_mean_over_the_steps_hides(make_task: MakeTask) -> None:
    """In class 1 a step of fifty has a peak and another its negative, which the mean over the window does not show."""
    generator = torch.Generator().manual_seed(0)

    def with_peak(side: Windows) -> Windows:
        signal = 0.1 * torch.randn(len(side), 50, 12, generator=generator)  # (n, 50, 12)
        up = torch.randint(50, (len(side),), generator=generator)  # (n,)
        for step, height in ((up, 5), ((up + 10) % 50, -5)):
            signal[torch.arange(len(side)), step, 0] += height * side.target[:, 1]
        return replace(side, signal=signal.half())

    task = make_task([[0], [1]] * 60, [[0], [1]] * 20, [[0], [1]] * 40, classes=2)
    task = replace(task, **{name: with_peak(side) for name, side in task.sides().items()})
    encoder = Steps(DilatedConfig(hidden=4, depth=1, output=8))
    settings = Attention(epochs=30, lr=[1e-2], batch_size=32, least_updates=12)
    attended = finetune(encoder, task, settings, seed=41, precision="float32")
    probed = linear_probe(encoder, task, [1.0], EvaluationCache("float32"))
    right, right_by_mean = (
        (outcome.probability.argmax(axis=1) == task.test.truth().argmax(axis=1)).mean()
        for outcome in (attended, probed)
    )
    assert right > 0.85
    assert right_by_mean < 0.7
