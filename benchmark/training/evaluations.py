"""EVALUATIONS: the ways in which an encoder is judged on a task, and CLASSICAL: rows that learn without an encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.config.config import Config
from benchmark.data.task import Task
from benchmark.results.names import FEATURES
from benchmark.training.attention import ATTENTION_VERSION, attend
from benchmark.training.boosting import FEATURES_VERSION, boost
from benchmark.training.finetune import FINETUNE_VERSION, SUPERVISED_VERSION, Outcome, finetune, supervise
from benchmark.training.minirocket import MINIROCKET_VERSION, minirocket
from benchmark.training.probes import KNN_VERSION, LINEAR_VERSION, EvaluationCache, knn_probe, linear_probe
from methods.base import PretrainMethod
from methods.encoders.base import Encoder


@dataclass(frozen=True)
class EvaluationInput:
    """What an evaluation is given."""

    encoder: Encoder
    task: Task
    config: Config
    method: type[PretrainMethod]
    seed: int
    precision: str
    cache: EvaluationCache
    """What it shares with the other cells of its encoder, which it leaves as it is."""


@dataclass(frozen=True)
class Evaluation:
    """How an encoder is judged on a task."""

    version: int
    """Results version: raised with any change that can move a number."""
    section: str
    """Config section that has its settings."""
    run: Callable[[EvaluationInput], Outcome]
    """Learn on the labelled windows and predict the test windows. Raises TrainingStopped on a non-finite loss."""
    not_in_key: frozenset[str] = frozenset()
    """Of the section: what the key of a cell has in other entries."""
    further: Callable[[Config, type[PretrainMethod]], Mapping[str, Any]] = lambda config, method: {}
    """Further entries of the key."""

    def settings(self, config: Config) -> dict[str, Any]:
        """Give the settings that its results depend on, for the key of a cell."""
        settings: dict[str, Any] = getattr(config, self.section).model_dump(exclude=self.not_in_key)
        return settings


def run_finetune(judged: EvaluationInput) -> Outcome:
    """Train encoder and head together."""
    settings = judged.config.finetuning(judged.method)
    return finetune(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


def run_linear(judged: EvaluationInput) -> Outcome:
    """Fit the linear probe with the best of the section's strengths."""
    strengths = judged.config.linear.strengths
    return linear_probe(judged.encoder, judged.task, strengths, precision=judged.precision, cache=judged.cache)


def run_knn(judged: EvaluationInput) -> Outcome:
    """Vote among the nearest labelled windows with the best of the section's numbers of neighbours."""
    settings = judged.config.knn
    return knn_probe(judged.encoder, judged.task, settings, precision=judged.precision, cache=judged.cache)


def run_attention(judged: EvaluationInput) -> Outcome:
    """Train a query and a linear layer on frozen steps."""
    settings = judged.config.attention
    return attend(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


def run_supervised(judged: EvaluationInput) -> Outcome:
    """Train encoder and head from scratch."""
    settings = judged.config.supervised
    return supervise(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


LINEAR = Evaluation(LINEAR_VERSION, "linear", run_linear)
EVALUATIONS = {
    "finetune": Evaluation(
        FINETUNE_VERSION,
        "finetune",
        run_finetune,
        not_in_key=frozenset({"beats_per_trial", "encoder_dropout"}),
        further=lambda config, method: {"encoder_dropout": config.finetuning(method).encoder_dropout},
    ),
    "linear": LINEAR,
    "attention": Evaluation(ATTENTION_VERSION, "attention", run_attention),
    "knn": Evaluation(KNN_VERSION, "knn", run_knn),
    "supervised": Evaluation(SUPERVISED_VERSION, "supervised", run_supervised),
    "validation": LINEAR,
}
"""By name: those of the tables and of baselines; `tune` judges by `validation`, the probe on validation patients."""


@dataclass(frozen=True)
class Classical:
    """How a row without an encoder learns a task."""

    version: int
    """Results version: raised with any change that can move a number."""
    section: str
    """Config section that has its settings."""
    run: Callable[[Task, Config, int], Outcome]
    """Learn on the labelled windows with a seed and predict the test windows."""

    def settings(self, config: Config) -> dict[str, Any]:
        """Give the settings that its results depend on, for the key of a cell."""
        settings: dict[str, Any] = getattr(config, self.section).model_dump()
        return settings


def run_boosting(task: Task, config: Config, seed: int) -> Outcome:
    """Boost trees on beat features."""
    return boost(task, config.boosting, rate=config.data.rate, seed=seed)


def run_minirocket(task: Task, config: Config, seed: int) -> Outcome:
    """Fit a ridge regression on random convolutions."""
    return minirocket(task, config.minirocket, seed=seed)


CLASSICAL = {
    FEATURES: Classical(FEATURES_VERSION, "boosting", run_boosting),
    "minirocket": Classical(MINIROCKET_VERSION, "minirocket", run_minirocket),
}
"""The rows without an encoder, by name."""
WAYS: Mapping[str, Evaluation | Classical] = {**EVALUATIONS, **CLASSICAL}
"""How a cell's evaluation learns, with an encoder or without, by name."""
