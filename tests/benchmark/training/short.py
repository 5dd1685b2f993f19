"""Pretrainings of seconds: noise, a tiny method, and a trainer that can be stopped or killed at an update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from benchmark.data.corpus import Corpus
from benchmark.data.task import ProbeWindows
from benchmark.process import stop
from benchmark.training.checkpoint import History
from benchmark.training.pretrain import pretrain
from methods import METHODS
from methods.base import MethodConfig, PretrainMethod, Recipe
from methods.encoders.dilated import Dilated, DilatedConfig
from tests.benchmark.data.corpora import corpus_in_memory

TRIALS, BEATS, STEPS, TEXT = 8, 4, 40, 6
RECIPE = Recipe(batch_size=4)
EPOCHS = 3


class Interrupted(Exception):
    """Stands for a kill in the middle of an epoch."""


@cache
def noise_corpus() -> Corpus:
    """Noise: four patients with two recordings each, of one pseudo-trial each."""
    generator = torch.Generator().manual_seed(0)
    beats = torch.randn(TRIALS, BEATS, STEPS, 12, generator=generator).half()
    text = torch.randn(TRIALS, TEXT, generator=generator)
    return corpus_in_memory(beats, torch.arange(TRIALS) // 2 + 1, torch.arange(TRIALS) + 1, text)


def build(name: str) -> PretrainMethod:
    """A tiny method, drawn from the same seed each time."""
    kind = METHODS[name].Config
    small: dict[str, Any] = {"queue_size": 12, "text_width": TEXT}
    hyperparameters = {
        hyperparameter: value
        for hyperparameter, value in small.items()
        if hyperparameter in {field.name for field in fields(kind)}
    }
    torch.manual_seed(0)
    return METHODS[name](Dilated(DilatedConfig(hidden=4, depth=2, output=8)), kind(**hyperparameters))


def train(
    method: PretrainMethod,
    checkpoint: Path,
    *,
    epochs: float = EPOCHS,
    recipe: Recipe = RECIPE,
    precision: str = "float32",
    probe: ProbeWindows | None = None,
    stop_at: int | None = None,
    terminate_at: int | None = None,
    steps: list[int] | None = None,
    on_epoch: Callable[[History], None] | None = None,
) -> History:
    """Train on the noise; killed at `stop_at`, asked to stop at `terminate_at`, with the updates noted in `steps`."""

    def on_step(done: int, total: int, text: str) -> None:
        if done == stop_at:
            raise Interrupted
        if done == terminate_at:
            stop.set()
        if steps is not None:
            steps.append(done)

    return pretrain(
        method,
        replace(getattr(method, "config", MethodConfig()), recipe=recipe),
        noise_corpus(),
        epochs=epochs,
        seed=42,
        precision=precision,
        checkpoint=checkpoint,
        probe=probe,
        on_step=on_step,
        on_epoch=on_epoch,
    )
