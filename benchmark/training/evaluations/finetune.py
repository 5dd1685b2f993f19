"""`finetune`: encoder and a new head, trained together."""

from __future__ import annotations

from typing import Any

from benchmark.config.config import Config
from benchmark.training.evaluations.contract import Amounts, Evaluation, Judged
from benchmark.training.finetune import FINETUNE_VERSION, Outcome, finetune
from methods.base import PretrainMethod

NOT_IN_KEY = {"beats_per_trial", "windows_per_trial", "encoder_dropout"}
"""Of the section: what the key has in other entries."""


def _run(judged: Judged) -> Outcome:
    settings = judged.config.finetuning(judged.method)
    return finetune(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


def _dropout(config: Config, method: type[PretrainMethod]) -> dict[str, Any]:
    """Dropout on the encoder's output; absent at 0, so that keys of earlier results stay valid."""
    dropout = config.finetuning(method).encoder_dropout
    return {"encoder_dropout": dropout} if dropout else {}


def _passes(config: Config, amounts: Amounts) -> float:
    own, labelled = config.finetune, amounts.labelled
    seen = max(labelled, own.least_updates * min(own.batch_size, labelled))  # per epoch
    return own.epochs * (3 * seen + amounts.held_out) + amounts.held_out


EVALUATION = Evaluation(
    version=FINETUNE_VERSION,
    section="finetune",
    run=_run,
    settings=lambda config: config.finetune.model_dump(exclude=NOT_IN_KEY),
    further=_dropout,
    passes=_passes,
)
