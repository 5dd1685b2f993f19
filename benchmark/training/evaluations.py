"""EVALUATIONS: the ways in which an encoder is judged on a task, and CLASSICAL: rows that learn without an encoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmark.config.config import Config
from benchmark.data.task import Task
from benchmark.results.names import FEATURES, FINETUNE, LINEAR, SUPERVISED, VALIDATION
from benchmark.training.attention import ATTENTION_VERSION, attend
from benchmark.training.boosting import FEATURES_VERSION, boost
from benchmark.training.finetune import FINETUNE_VERSION, SUPERVISED_VERSION, Outcome, finetune, supervise
from benchmark.training.minirocket import MINIROCKET_VERSION, minirocket
from benchmark.training.probes import KNN_VERSION, LINEAR_VERSION, EvaluationCache, knn_probe, linear_probe
from methods.base import PretrainMethod
from methods.encoders.base import Encoder


@dataclass(frozen=True)
class EvaluationInput:
    """What an evaluation of an encoder is given."""

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
    """How a task is learned."""

    version: int
    """Results version: raised with any change that can move a number."""
    run: Callable[..., Outcome]
    """Learn on the labelled windows and predict the test windows. It takes an `EvaluationInput`; without an encoder a
    task, a config and a seed. Raises TrainingStopped on a non-finite loss."""


def run_finetune(given: EvaluationInput) -> Outcome:
    """Train encoder and head together."""
    settings = given.config.finetuning(given.method)
    return finetune(given.encoder, given.task, settings, seed=given.seed, precision=given.precision)


def run_linear(given: EvaluationInput) -> Outcome:
    """Fit the linear probe with the best of the section's strengths."""
    strengths = given.config.linear.strengths
    return linear_probe(given.encoder, given.task, strengths, precision=given.precision, cache=given.cache)


def run_knn(given: EvaluationInput) -> Outcome:
    """Vote among the nearest labelled windows with the best of the section's numbers of neighbours."""
    return knn_probe(given.encoder, given.task, given.config.knn, precision=given.precision, cache=given.cache)


def run_attention(given: EvaluationInput) -> Outcome:
    """Train a query and a linear layer on frozen steps."""
    return attend(given.encoder, given.task, given.config.attention, seed=given.seed, precision=given.precision)


def run_supervised(given: EvaluationInput) -> Outcome:
    """Train encoder and head from scratch."""
    return supervise(given.encoder, given.task, given.config.supervised, seed=given.seed, precision=given.precision)


def run_boosting(task: Task, config: Config, seed: int) -> Outcome:
    """Boost trees on beat features."""
    return boost(task, config.boosting, rate=config.data.rate, seed=seed)


def run_minirocket(task: Task, config: Config, seed: int) -> Outcome:
    """Fit a ridge regression on random convolutions."""
    return minirocket(task, config.minirocket, seed=seed)


EVALUATIONS = {
    FINETUNE: Evaluation(FINETUNE_VERSION, run_finetune),
    LINEAR: Evaluation(LINEAR_VERSION, run_linear),
    "attention": Evaluation(ATTENTION_VERSION, run_attention),
    "knn": Evaluation(KNN_VERSION, run_knn),
    SUPERVISED: Evaluation(SUPERVISED_VERSION, run_supervised),
    VALIDATION: Evaluation(LINEAR_VERSION, run_linear),
}
"""By name: those of the tables and of baselines; `tune` judges by `validation`, the probe on validation patients."""
CLASSICAL = {
    FEATURES: Evaluation(FEATURES_VERSION, run_boosting),
    "minirocket": Evaluation(MINIROCKET_VERSION, run_minirocket),
}
"""The rows without an encoder, by name."""
SECTIONS = {VALIDATION: LINEAR, FEATURES: "boosting"}
"""Evaluation -> the config section that has its settings, where its name is another."""


def settings_of(evaluation: str, config: Config) -> dict[str, Any]:
    """Give the settings that the results of an evaluation depend on, for the key of a cell.

    Those of fine-tuning lack two, which have entries of their own in the key.
    """
    excluded = {"beats_per_trial", "encoder_dropout"} if evaluation == FINETUNE else None
    settings: dict[str, Any] = getattr(config, SECTIONS.get(evaluation, evaluation)).model_dump(exclude=excluded)
    return settings
