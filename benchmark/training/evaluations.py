"""The ways in which an encoder is judged on a task, and the rows that learn without an encoder.

`validation`, by which `tune` judges, is the linear probe on validation patients.
"""

from __future__ import annotations

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

MINIROCKET = "minirocket"


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


VERSIONS = {
    FINETUNE: FINETUNE_VERSION,
    LINEAR: LINEAR_VERSION,
    "attention": ATTENTION_VERSION,
    "knn": KNN_VERSION,
    SUPERVISED: SUPERVISED_VERSION,
    VALIDATION: LINEAR_VERSION,
    FEATURES: FEATURES_VERSION,
    MINIROCKET: MINIROCKET_VERSION,
}
"""Evaluation -> results version: raised with any change that can move a number."""
SECTIONS = {VALIDATION: LINEAR, FEATURES: "boosting"}
"""Evaluation -> the config section that has its settings, where its name is another."""


def settings_of(evaluation: str, config: Config) -> dict[str, Any]:
    """Give the settings that the results of an evaluation depend on, for the key of a cell.

    Those of fine-tuning lack two, which have entries of their own in the key.
    """
    excluded = {"beats_per_trial", "encoder_dropout"} if evaluation == FINETUNE else None
    settings: dict[str, Any] = getattr(config, SECTIONS.get(evaluation, evaluation)).model_dump(exclude=excluded)
    return settings


def evaluate(evaluation: str, given: EvaluationInput) -> Outcome:
    """Learn on the labelled windows and predict the test windows. Raises TrainingStopped on a non-finite loss."""
    encoder, task, config, seed, precision = given.encoder, given.task, given.config, given.seed, given.precision
    if evaluation == FINETUNE:
        return finetune(encoder, task, config.finetuning(given.method), seed=seed, precision=precision)
    if evaluation == SUPERVISED:
        return supervise(encoder, task, config.supervised, seed=seed, precision=precision)
    if evaluation == "attention":
        return attend(encoder, task, config.attention, seed=seed, precision=precision)
    if evaluation == "knn":
        return knn_probe(encoder, task, config.knn, precision=precision, cache=given.cache)
    return linear_probe(encoder, task, config.linear.strengths, precision=precision, cache=given.cache)


def evaluate_classical(evaluation: str, task: Task, config: Config, seed: int) -> Outcome:
    """Learn on the labelled windows without an encoder and predict the test windows."""
    if evaluation == FEATURES:
        return boost(task, config.boosting, rate=config.data.rate, seed=seed)
    return minirocket(task, config.minirocket, seed=seed)
