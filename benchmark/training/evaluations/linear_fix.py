"""`linear-fix`: the linear probe of FIX (benchmark.training.linear_fix) on frozen features of windows.

Under protocol `paper` the labelled windows are those of FIX's label fractions; under `strict` they are drawn by patient
and per seed, as for every other evaluation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmark.config.config import Config
from benchmark.data.tasks.split import LabelledSubset
from benchmark.data.tasks.subsets import drawn_by_recording
from benchmark.data.tasks.task import Sides, Task, drawn_by_protocol
from benchmark.training.evaluations.contract import Amounts, Evaluation, Judged
from benchmark.training.finetune import Outcome
from benchmark.training.linear import Floats, probed_once
from benchmark.training.linear_fix import CLASS_WEIGHTS, MAX_ITERATIONS, SCALES, STRENGTHS, probe

LINEAR_FIX_VERSION = 1
GRID = {
    "standardised": list(SCALES),
    "strengths": list(STRENGTHS),
    "class_weights": list(CLASS_WEIGHTS),
    "iterations": MAX_ITERATIONS,
}
FIT_PASSES = 12.0
"""Cost of fitting the grid, in encoder passes per labelled window; measured at eight times that of `linear`."""
OTHER_LABELS = "linear-fix: the labelled patients are drawn as by protocol strict, not by FIX's one permutation"


def draw(sides: Sides, ratio: float, seed: int) -> LabelledSubset:
    """FIX's label fraction, of recordings, where the protocol has one subset for all seeds; else the protocol's."""
    if sides.spec.protocol == "paper":
        return drawn_by_recording(sides, ratio, seed)
    found = drawn_by_protocol(sides, ratio, seed)
    return LabelledSubset(found.windows, (*found.notes, OTHER_LABELS))


def run_linear_fix(judged: Judged) -> Outcome:
    """The probe on the features of windows; of a single-label task the classes' probabilities are made to sum to 1."""
    return probed_once(
        judged.encoder, judged.task, ["linear-fix"], _fit, precision=judged.precision, known=judged.known
    )


def _fit(task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
    found, (standardised, strength, weight) = probe(
        train, task.train.truth(), validation, task.validation.truth(), test
    )
    training = {"C": strength, "standardised": standardised, "class_weight": weight}
    return Outcome(found if task.multi else summing_to_one(found), training)


def summing_to_one(probability: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows (n, C) divided by their sums; equal shares where all are 0."""
    total = probability.sum(axis=1, keepdims=True)  # (n, 1)
    share = np.float32(1 / probability.shape[1])
    return np.where(total > 0, probability / np.where(total > 0, total, 1), share).astype(np.float32)


def _passes(config: Config, amounts: Amounts) -> float:
    return amounts.labelled * (1 + FIT_PASSES) + 2 * amounts.held_out


EVALUATION = Evaluation(
    version=LINEAR_FIX_VERSION, section="", run=run_linear_fix, settings=lambda config: GRID, draw=draw, passes=_passes
)
