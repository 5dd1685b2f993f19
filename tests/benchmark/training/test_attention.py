"""An attention head learns from steps what their mean hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from benchmark.config.schema import Attention
from benchmark.data.task import Task, Windows
from benchmark.training.attention import attend
from benchmark.training.finetune import Outcome
from benchmark.training.probes import linear_probe
from methods.encoders.dilated import Dilated, DilatedConfig


class Steps(Dilated):
    """An encoder that gives the first K leads of every sample."""

    def forward(self, x: Tensor, mask: object = None) -> Tensor:
        return x[:, :, : self.config.output]

    def pooled(self, x: Tensor, mask: object = None) -> Tensor:
        return self(x).mean(1)


def accuracy(outcome: Outcome, task: Task) -> float:
    return float((outcome.probability.argmax(axis=1) == task.test.truth().argmax(axis=1)).mean())


def test_it_finds_what_the_mean_over_the_steps_hides(make_task: Callable[..., Task]) -> None:
    """Of class 1 a step of fifty has a peak and another its negative, which the mean over the window does not show."""
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
    settings = Attention(epochs=30, lr=1e-2, batch_size=32, least_updates=12)
    outcome = attend(encoder, task, settings, seed=41, precision="float32")
    assert accuracy(outcome, task) > 0.85
    assert accuracy(linear_probe(encoder, task, [1.0], precision="float32"), task) < 0.7
    assert outcome.training["best_epoch"] <= settings.epochs == len(outcome.training["validation_f1"])
