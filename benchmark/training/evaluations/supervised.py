"""`supervised`: training from scratch on all labels, the gate of that name (benchmark.training.supervised)."""

from __future__ import annotations

from benchmark.config.config import Config
from benchmark.training.evaluations.contract import Amounts, Evaluation, Judged
from benchmark.training.finetune import Outcome
from benchmark.training.supervised import SUPERVISED_VERSION, supervise


def _run(judged: Judged) -> Outcome:
    return supervise(
        judged.encoder, judged.task, judged.config.supervised, seed=judged.seed, precision=judged.precision
    )


def _passes(config: Config, amounts: Amounts) -> float:
    return config.supervised.epochs * 3 * amounts.labelled + amounts.held_out


EVALUATION = Evaluation(
    version=SUPERVISED_VERSION,
    section="supervised",
    run=_run,
    settings=lambda config: config.supervised.model_dump(),
    passes=_passes,
)
