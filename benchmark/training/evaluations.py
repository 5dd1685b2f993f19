"""The ways in which an encoder is judged on a task, and the rows that learn without an encoder.

`validation`, by which `tune` judges, is the linear probe on validation patients.
"""

from __future__ import annotations

from typing import Any

from benchmark.config.config import Config
from benchmark.data.task import Task
from benchmark.results.names import (
    COMBINED,
    ERASED,
    ERASED_RANDOM,
    FEATURES,
    FINETUNE,
    HEART_RATE,
    LINEAR,
    QRS_AMPLITUDE,
    RETRIEVAL,
    SUPERVISED,
    VALIDATION,
    Protocol,
)
from benchmark.training.boosting import boost
from benchmark.training.finetune import Outcome, finetune
from benchmark.training.minirocket import minirocket
from benchmark.training.probes import (
    EvaluationCache,
    erased_probe,
    knn_probe,
    linear_probe,
    patient_retrieval,
    principal_components,
)
from methods.base import PretrainMethod
from methods.encoders.base import Encoder

VERSIONS = {
    FINETUNE: 3,
    LINEAR: 4,
    "attention": 2,
    "knn": 2,
    COMBINED: 1,
    ERASED: 2,
    ERASED_RANDOM: 2,
    RETRIEVAL: 2,
    SUPERVISED: 2,
    VALIDATION: 4,
    FEATURES: 4,
    HEART_RATE: 1,
    QRS_AMPLITUDE: 1,
    "minirocket": 3,
}
"""Evaluation -> results version: raised with any change that can move a number."""
STRICT_RAISE = 2
"""Number that `strict` adds to the version of an evaluation that is judged on classes."""
SECTIONS = dict.fromkeys((VALIDATION, ERASED, ERASED_RANDOM), LINEAR)
SECTIONS |= dict.fromkeys((COMBINED, FEATURES, HEART_RATE, QRS_AMPLITUDE), "boosting")
"""Evaluation -> the config section that has its settings, where its name is another."""


def version_of(evaluation: str, protocol: Protocol) -> int:
    """Return the results version of an evaluation under a protocol."""
    is_raised = protocol == "strict" and evaluation != RETRIEVAL
    return VERSIONS[evaluation] + STRICT_RAISE * is_raised


def settings_of(evaluation: str, config: Config) -> dict[str, Any]:
    """Give the settings that the results of an evaluation depend on, for the key of a cell.

    Two settings of fine-tuning have entries of their own in the key. A single learning rate is stored as a number, and
    masks of strength 0 are left out.
    """
    if evaluation == RETRIEVAL:
        return {}
    excluded = {"beats_per_trial", "encoder_dropout"} if evaluation == FINETUNE else None
    settings: dict[str, Any] = getattr(config, SECTIONS.get(evaluation, evaluation)).model_dump(exclude=excluded)
    if len(settings.get("lr", ())) == 1:
        (settings["lr"],) = settings["lr"]
    if not settings.get("masks"):
        settings.pop("masks", None)
    return settings


def evaluate(
    evaluation: str,
    encoder: Encoder,
    task: Task,
    config: Config,
    *,
    method: type[PretrainMethod],
    seed: int,
    cache: EvaluationCache,
) -> Outcome:
    """Learn on the labelled windows and predict the test windows, with an encoder of a method, which is not changed.

    cache: what it shares with the other cells of its encoder. Raises TrainingStopped on a non-finite loss.
    """
    if evaluation == RETRIEVAL:
        return patient_retrieval(encoder, task.test, cache)
    if evaluation == "knn":
        return knn_probe(encoder, task, config.knn, cache)
    if evaluation in (LINEAR, VALIDATION):
        return linear_probe(encoder, task, config.linear.strengths, cache)
    if evaluation in (ERASED, ERASED_RANDOM):
        drawn_by = seed if evaluation == ERASED_RANDOM else None
        return erased_probe(encoder, task, config.linear.strengths, cache, drawn_by)
    if evaluation == COMBINED:
        beside = principal_components(encoder, task, cache)
        return boost(task, config.boosting, rate=config.data.rate, seed=seed, beside=beside)
    settings = config.finetuning(method) if evaluation == FINETUNE else getattr(config, evaluation)
    return finetune(encoder, task, settings, seed=seed, precision=cache.precision)


def evaluate_classical(evaluation: str, task: Task, config: Config, seed: int) -> Outcome:
    """Learn on the labelled windows without an encoder and predict the test windows."""
    if evaluation == "minirocket":
        return minirocket(task, config.minirocket, seed=seed)
    return boost(task, config.boosting, rate=config.data.rate, seed=seed, measures=evaluation)
