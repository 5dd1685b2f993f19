"""EVALUATIONS: the ways in which an encoder is judged on a task.

Of frozen features: `linear`, the linear probe, and `knn`, the classes of the nearest features by cosine with votes
exp(cosine / temperature), as Wu et al. 2018, "Unsupervised feature learning via non-parametric instance
discrimination": a class's probability is its share of the votes of the k nearest labelled windows, of one label or
several, k by validation macro-F1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.config.config import Config
from benchmark.config.schema import Knn
from benchmark.data.task import Task
from benchmark.results.names import FEATURES
from benchmark.training.attention import ATTENTION_VERSION, attend
from benchmark.training.boosting import FEATURES_VERSION, boost
from benchmark.training.finetune import (
    FINETUNE_VERSION,
    SUPERVISED_VERSION,
    Outcome,
    finetune,
    supervise,
    validation_score,
)
from benchmark.training.minirocket import MINIROCKET_VERSION, minirocket
from benchmark.training.probes import LINEAR_VERSION, EvaluationCache, Floats, cached_probe, linear_probe
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
    known: EvaluationCache
    """What it shares with the other cells of its encoder, which it leaves as it is."""


@dataclass(frozen=True)
class Evaluation:
    """How an encoder is judged on a task."""

    version: int
    """Results version: raised with any change that can move a number."""
    section: str
    """Config section that has its settings; '' for none."""
    run: Callable[[EvaluationInput], Outcome]
    """Learn on the labelled windows and predict the test windows. Raises TrainingStopped on a non-finite loss."""
    settings: Callable[[Config], Mapping[str, Any]]
    """The settings that its results depend on, for the key of a cell."""
    further: Callable[[Config, type[PretrainMethod]], Mapping[str, Any]] = lambda config, method: {}
    """Further entries of the key."""


def run_linear(judged: EvaluationInput) -> Outcome:
    """The linear probe with the strengths of the section `linear`."""
    strengths = judged.config.linear.strengths
    return linear_probe(judged.encoder, judged.task, strengths, precision=judged.precision, known=judged.known)


LINEAR = Evaluation(
    version=LINEAR_VERSION, section="linear", run=run_linear, settings=lambda config: config.linear.model_dump()
)


NOT_IN_KEY = {"beats_per_trial", "encoder_dropout"}
"""Of the section: what the key has in other entries."""


def run_finetune(judged: EvaluationInput) -> Outcome:
    """Encoder and head trained together."""
    settings = judged.config.finetuning(judged.method)
    return finetune(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


FINETUNE = Evaluation(
    version=FINETUNE_VERSION,
    section="finetune",
    run=run_finetune,
    settings=lambda config: config.finetune.model_dump(exclude=NOT_IN_KEY),
    further=lambda config, method: {"encoder_dropout": config.finetuning(method).encoder_dropout},
)


KNN_VERSION = 2
MOST_NUMBERS = 2**24
"""Similarities, and labels of neighbours, in memory at a time."""


def run_knn(judged: EvaluationInput) -> Outcome:
    """Vote among the nearest labelled windows with the best of the section's numbers of neighbours."""
    settings = judged.config.knn
    what = ["knn", *settings.neighbours, settings.temperature]
    fit = partial(_fit_knn, settings)
    return cached_probe(judged.encoder, judged.task, what, fit, precision=judged.precision, known=judged.known)


def _fit_knn(settings: Knn, task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
    counts = list(dict.fromkeys(min(count, len(train)) for count in settings.neighbours))
    target = task.train.target.cpu().numpy()  # (n, C)
    candidates = votes(train, target, validation, counts, settings.temperature)
    scores = [validation_score(probability, task) for probability in candidates]
    best = counts[int(np.argmax(scores))]
    (found,) = votes(train, target, test, [best], settings.temperature)
    return Outcome(found, {"neighbours": best, "validation_f1": scores})


def votes(train: Floats, target: Floats, others: Floats, counts: Sequence[int], temperature: float) -> list[Floats]:
    """Per number of neighbours: class probabilities (m, C) of `others` (m, K) by the votes of `train` (n, K).

    target: (n, C) multi-hot. Of equally near windows those that come first vote.
    """
    found = [np.zeros((len(others), target.shape[1]), np.float32) for _ in counts]
    if not len(others):
        return found
    known, asked = unit_length(train), unit_length(others)
    rows = max(1, MOST_NUMBERS // max(len(known), max(counts) * target.shape[1]))
    for start in range(0, len(asked), rows):
        similarity = asked[start : start + rows] @ known.T  # (m', n)
        nearest = nearest_of(similarity, max(counts))  # (m', k)
        weight = np.exp((np.take_along_axis(similarity, nearest, axis=1) - 1) / temperature)  # (m', k), at most 1
        for probability, count in zip(found, counts, strict=True):
            own = weight[:, :count]
            summed = np.einsum("mk,mkc->mc", own, target[nearest[:, :count]])  # (m', C)
            probability[start : start + rows] = summed / own.sum(axis=1, keepdims=True)
    return found


def nearest_of(similarity: Floats, count: int) -> NDArray[np.intp]:
    """Columns (m, k) of the highest similarities of each row of (m, n), the highest first."""
    if count < similarity.shape[1]:
        candidates = np.sort(np.argpartition(-similarity, count - 1)[:, :count])  # (m, k)
    else:
        candidates = np.broadcast_to(np.arange(similarity.shape[1]), similarity.shape)
    order = np.argsort(-np.take_along_axis(similarity, candidates, axis=1), axis=1, kind="stable")  # (m, k)
    return np.take_along_axis(candidates, order, axis=1)


def unit_length(x: Floats) -> Floats:
    """Rows (n, K) divided by their lengths, in float32; a row of zeros stays."""
    length = np.linalg.norm(x, axis=1, keepdims=True)  # (n, 1)
    return (x / np.where(length > 0, length, 1)).astype(np.float32)


KNN = Evaluation(
    version=KNN_VERSION,
    section="knn",
    run=run_knn,
    settings=lambda config: config.knn.model_dump(),
)


def run_attention(judged: EvaluationInput) -> Outcome:
    """A query and a linear layer on frozen steps."""
    settings = judged.config.attention
    return attend(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


ATTENTION = Evaluation(
    version=ATTENTION_VERSION,
    section="attention",
    run=run_attention,
    settings=lambda config: config.attention.model_dump(),
)


def run_supervised(judged: EvaluationInput) -> Outcome:
    """Encoder and head trained from scratch."""
    settings = judged.config.supervised
    return supervise(judged.encoder, judged.task, settings, seed=judged.seed, precision=judged.precision)


SUPERVISED = Evaluation(
    version=SUPERVISED_VERSION,
    section="supervised",
    run=run_supervised,
    settings=lambda config: config.supervised.model_dump(),
)


EVALUATIONS = {
    "finetune": FINETUNE,
    "linear": LINEAR,
    "attention": ATTENTION,
    "knn": KNN,
    "supervised": SUPERVISED,
    "validation": LINEAR,
}
"""By name: those of the tables and of gates; `tune` judges by `validation`, the linear probe on validation patients."""


@dataclass(frozen=True)
class Classical:
    """How a gate without an encoder learns a task."""

    version: int
    """Results version: raised with any change that can move a number."""
    section: str
    """Config section that has its settings."""
    run: Callable[[Task, Config, int], Outcome]
    """Learn on the labelled windows with a seed and predict the test windows."""

    def settings(self, config: Config) -> dict[str, Any]:
        """The settings that its results depend on, for the key of a cell."""
        found: dict[str, Any] = getattr(config, self.section).model_dump()
        return found


def run_boosting(task: Task, config: Config, seed: int) -> Outcome:
    """Boosted beat features."""
    return boost(task, config.boosting, kind=config.data.segmentation.kind, rate=config.data.rate, seed=seed)


CLASSICAL = {
    FEATURES: Classical(FEATURES_VERSION, "boosting", run_boosting),
    "minirocket": Classical(
        MINIROCKET_VERSION,
        "minirocket",
        run=lambda task, config, seed: minirocket(task, config.minirocket, seed=seed),
    ),
}
"""The gates without an encoder, by name."""
WAYS: Mapping[str, Evaluation | Classical] = {**EVALUATIONS, **CLASSICAL}
"""How a cell's evaluation learns, with an encoder or without, by name."""
