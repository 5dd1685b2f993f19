"""Probes of frozen features: logistic regressions and nearest neighbours, chosen on the validation windows by macro-F1.

The linear probe is a softmax regression on standardised features, or one regression per class of several labels. `knn`
gives a class its share of the votes exp(cosine / temperature) of the k nearest labelled windows, of one label or
several (Wu et al. 2018, "Unsupervised feature learning via non-parametric instance discrimination"). The first of the
best C or k is used, and nothing is fitted again on the validation set.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from benchmark.config.schema import Knn
from benchmark.data.splits import DatasetTask, TaskSpec
from benchmark.data.task import Sides, Task, Windows
from benchmark.results.schema import digest
from benchmark.training.finetune import Outcome, in_batches, validation_score
from methods.encoders.base import Encoder

LINEAR_VERSION = 3
KNN_VERSION = 2
MAX_ITERATIONS = 1000
Floats = NDArray[np.float32]
Probe = Callable[[Floats], Floats]
"""Features (n, K) -> class probabilities (n, C)."""
Fit = Callable[[Task, Floats, Floats, Floats], Outcome]
"""(task, features of its training, validation and test windows) -> outcome without its seconds."""


@dataclass(frozen=True)
class EvaluationCache:
    """What the evaluations of one encoder in one precision share."""

    encoders: dict[str, Encoder] = field(default_factory=dict)
    """Key of the pretraining -> its encoder, which every evaluation leaves as it is."""
    sides: dict[tuple[Path, DatasetTask, TaskSpec, bool, tuple[int, int] | None], Sides] = field(default_factory=dict)
    """Folder of the prepared dataset, column, spec, whether it is tested, part of a cross-validation and the seed that
    deals them -> what its tasks share."""
    external: dict[tuple[Path, str], Windows] = field(default_factory=dict)
    """Folder of recordings in an encoder's own windows, hash of the windows that they replace -> these."""
    features: dict[str, Floats] = field(default_factory=dict)
    """SHA-256 of windows -> (n, K); label ratios share windows."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """Hash of task, probe and settings -> outcome; seeds share a task under `protocol: paper`, and the probe is
    deterministic."""


def features(encoder: Encoder, signal: Tensor, precision: str) -> Floats:
    """Compute pooled features (n, K) of windows (n, S, L), in evaluation mode."""
    return pooled_features(encoder, signal, precision).cpu().numpy()


def pooled_features(encoder: Encoder, signal: Tensor, precision: str) -> Tensor:
    """Compute those of `features` on the device, which is not waited for."""
    return in_batches(encoder, encoder.pooled, signal, precision)  # (n, K)


def cached_probe(
    encoder: Encoder, task: Task, settings: Sequence[Any], fit: Fit, *, precision: str, cache: EvaluationCache
) -> Outcome:
    """Give the outcome of a probe on the frozen features of a task, from the cache if it is there; else it is added.

    settings: of the probe, with its name, by which outcomes on one task are told apart.
    """
    started = time.perf_counter()
    encoder = encoder.to(task.train.signal.device)
    sides = list(task.sides().values())
    key = digest([*(side.content for side in sides), task.multi, task.unit, *settings])
    if key not in cache.outcomes:
        for side in sides:
            if side.content[0] not in cache.features:
                width = encoder.config.output
                empty = np.empty((0, width), np.float32)
                cache.features[side.content[0]] = features(encoder, side.signal, precision) if len(side) else empty
        train, validation, test = (cache.features[side.content[0]] for side in sides)
        cache.outcomes[key] = fit(task, train, validation, test)
        cache.outcomes[key].training["seconds"] = time.perf_counter() - started
    outcome = cache.outcomes[key]
    return replace(outcome, training=dict(outcome.training), notes=list(outcome.notes))


def linear_probe(
    encoder: Encoder, task: Task, strengths: Sequence[float], *, precision: str, cache: EvaluationCache | None = None
) -> Outcome:
    """Fit a logistic regression on frozen features for each strength C and predict the test windows with the best."""

    def fit(task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
        target = task.train.target.cpu().numpy().astype(np.int64)  # (n, C)
        fitted = [fit_regression(train, target, strength, task.multi) for strength in strengths]
        scores = [validation_score(probe(validation), task) for probe, _ in fitted]
        best, unconverged = int(np.argmax(scores)), sum(not converged for _, converged in fitted)
        stopped = f"{unconverged} of {len(strengths)} probes stopped after {MAX_ITERATIONS} iterations"
        training = {"C": strengths[best], "validation_f1": scores}
        return Outcome(fitted[best][0](test), training, [stopped] if unconverged else [])

    return cached_probe(encoder, task, strengths, fit, precision=precision, cache=cache or EvaluationCache())


def fit_regression(x: Floats, target: NDArray[np.int64], strength: float, multi: bool) -> tuple[Probe, bool]:
    """Fit one softmax regression, or one binary regression per class, of (n, K) and (n, C).

    Returns the probe, which gives classes without a labelled window probability 0, and whether all fits converged.
    """
    from sklearn.dummy import DummyClassifier  # here, because it loads slowly
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = target if multi else target.argmax(axis=1)  # (n, C) or (n,)
    regression = LogisticRegression(C=strength, max_iter=MAX_ITERATIONS)
    if multi:
        regression = OneVsRestClassifier(regression)
    elif len(np.unique(y)) == 1:
        regression = DummyClassifier()
    model = make_pipeline(StandardScaler(), regression)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(x, y)

    def probe(x: Floats) -> Floats:
        probability = np.zeros((len(x), target.shape[1]), np.float32)  # (n, C)
        if len(x):
            probability[:, np.arange(target.shape[1]) if multi else model.classes_] = model.predict_proba(x)
        return probability

    return probe, not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def knn_probe(encoder: Encoder, task: Task, settings: Knn, *, precision: str, cache: EvaluationCache) -> Outcome:
    """Vote among the nearest labelled windows, for each number of neighbours, and predict with the best."""

    def fit(task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
        counts = list(dict.fromkeys(min(count, len(train)) for count in settings.neighbours))
        target = task.train.target.cpu().numpy()  # (n, C)
        scores = [
            validation_score(probability, task)
            for probability in votes(train, target, validation, counts, settings.temperature)
        ]
        best = counts[int(np.argmax(scores))]
        (probability,) = votes(train, target, test, [best], settings.temperature)
        return Outcome(probability, {"neighbours": best, "validation_f1": scores})

    names = ["knn", *settings.neighbours, settings.temperature]
    return cached_probe(encoder, task, names, fit, precision=precision, cache=cache)


def votes(train: Floats, target: Floats, others: Floats, counts: Sequence[int], temperature: float) -> list[Floats]:
    """Give class probabilities (m, C) of `others` (m, K) by the votes of `train` (n, K), per number of neighbours.

    target: (n, C) multi-hot.
    """
    from scipy.sparse import csr_array
    from sklearn.neighbors import NearestNeighbors  # here, because it loads slowly

    if not len(others):
        return [np.zeros((0, target.shape[1]), np.float32) for _ in counts]
    neighbours = NearestNeighbors(n_neighbors=max(counts), metric="cosine").fit(train)
    distance, nearest = neighbours.kneighbors(others)  # (m, k), (m, k)
    weight = np.exp(-distance / temperature)  # (m, k)
    probabilities = []
    for count in counts:
        share = weight[:, :count] / weight[:, :count].sum(axis=1, keepdims=True)  # (m, count)
        starts = np.arange(0, share.size + 1, count)
        voters = csr_array((share.ravel(), nearest[:, :count].ravel(), starts), shape=(len(others), len(train)))
        probabilities.append((voters @ target).astype(np.float32))  # (m, C)
    return probabilities
