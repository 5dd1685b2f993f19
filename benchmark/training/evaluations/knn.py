"""`knn`: the classes of the nearest frozen features by cosine, with votes exp(cosine / temperature).

As Wu et al. 2018, "Unsupervised feature learning via non-parametric instance discrimination". A class's probability is
its share of the votes of the k nearest labelled windows, of one label or several; k by validation macro-F1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.config.sections.evaluate import Knn
from benchmark.data.tasks.task import Task
from benchmark.training.evaluations.contract import Evaluation, Judged
from benchmark.training.finetune import Outcome, validation_score
from benchmark.training.linear import Floats, probed_once

KNN_VERSION = 1
MOST_NUMBERS = 2**24
"""Similarities, and labels of neighbours, in memory at a time."""
SEARCH_PASSES = 0.1
"""Cost of the search, in encoder passes per labelled or held-out window."""


def run_knn(judged: Judged) -> Outcome:
    """Vote among the nearest labelled windows with the best of the section's numbers of neighbours."""
    settings = judged.config.knn
    what = ["knn", *settings.neighbours, settings.temperature]
    fit = partial(_fit, settings)
    return probed_once(judged.encoder, judged.task, what, fit, precision=judged.precision, known=judged.known)


def _fit(settings: Knn, task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
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


EVALUATION = Evaluation(
    version=KNN_VERSION,
    section="knn",
    run=run_knn,
    settings=lambda config: config.knn.model_dump(),
    passes=lambda config, amounts: (1 + SEARCH_PASSES) * (amounts.labelled + 2 * amounts.held_out),
)
