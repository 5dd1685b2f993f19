"""`few-shot`: the linear probe on the windows of few labelled patients per class, drawn per seed under any protocol."""

from __future__ import annotations

from benchmark.data.tasks.subsets import drawn_per_class
from benchmark.training.evaluations.contract import Evaluation, Pool
from benchmark.training.evaluations.linear import EVALUATION as OF_LINEAR
from benchmark.training.evaluations.linear import run_linear

FEW_SHOT_VERSION = 1


def labelled(pool: Pool, shots: float) -> float:
    """Expected labelled windows: a patient has a recording or little more."""
    return min(pool.windows, shots * pool.classes * pool.windows / max(1.0, pool.recordings))


EVALUATION = Evaluation(
    version=FEW_SHOT_VERSION,
    section="linear",
    run=run_linear,
    settings=OF_LINEAR.settings,
    draw=drawn_per_class,
    labelled=labelled,
)
