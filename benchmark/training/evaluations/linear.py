"""`linear`: logistic regression on frozen features, C by validation macro-F1."""

from __future__ import annotations

from benchmark.training.evaluations.contract import Evaluation, Judged
from benchmark.training.finetune import Outcome
from benchmark.training.linear import LINEAR_VERSION, linear_probe


def run_linear(judged: Judged) -> Outcome:
    """The linear probe with the strengths of the section `linear`."""
    strengths = judged.config.linear.strengths
    return linear_probe(judged.encoder, judged.task, strengths, precision=judged.precision, known=judged.known)


EVALUATION = Evaluation(
    version=LINEAR_VERSION, section="linear", run=run_linear, settings=lambda config: config.linear.model_dump()
)
