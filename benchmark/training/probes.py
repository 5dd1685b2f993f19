"""Probes of frozen features: logistic regressions and nearest neighbours, chosen on the validation windows.

The linear probe is a softmax regression on standardised features, or one regression per class of several labels. `knn`
gives a class its share of the votes exp(cosine / temperature) of the k nearest labelled windows, of one label or
several (Wu et al. 2018, "Unsupervised feature learning via non-parametric instance discrimination"). The first of the
best C or k is used, and nothing is fitted again on the validation set.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.config.schema import Knn
from benchmark.data.task import Task, Windows
from benchmark.machine import stream
from benchmark.results.arrays import Floats, Ints
from benchmark.results.metrics import pooled_by
from benchmark.training.finetune import Outcome, in_batches, validation_score
from benchmark.training.health import patient_hits
from methods.encoders.base import Encoder

DIRECTIONS = 8
"""Directions that the evaluations `erased` and `erased-random` project out of frozen features."""
COMPONENTS = 16
"""Principal components of frozen features that are boosted. Each split draws among a share of all columns, which more
components would take from the beat features."""


@dataclass(frozen=True)
class EvaluationCache:
    """Results that the evaluations of one encoder share."""

    precision: str
    features: dict[str, Floats] = field(default_factory=dict)
    """SHA-256 of windows -> (n, K); label ratios share windows."""
    outcomes: dict[tuple[Any, ...], Outcome] = field(default_factory=dict)
    """Strengths and task of a linear probe -> outcome: seeds share a task under `protocol: paper`."""


def features(encoder: Encoder, signal: Tensor, precision: str) -> Floats:
    """Compute pooled features (n, K) of windows (n, S, L), in evaluation mode."""
    return in_batches(encoder, encoder.pooled, signal, precision).cpu().numpy()


def cached_features(encoder: Encoder, sides: Collection[Windows], cache: EvaluationCache) -> list[Floats]:
    """Give the features (n, K) of the windows of some sides, from the cache where they are there."""
    of_sides = []
    for side in sides:
        signal_digest, _ = side.content
        if signal_digest not in cache.features:
            computed = np.empty((0, encoder.config.output), np.float32)
            if len(side):
                computed = features(encoder.to(side.signal.device), side.signal, cache.precision)
            cache.features[signal_digest] = computed
        of_sides.append(cache.features[signal_digest])
    return of_sides


def patient_retrieval(encoder: Encoder, test: Windows, cache: EvaluationCache) -> Outcome:
    """Tell whether a test recording's patient is that of the nearest others, by the cosine of frozen features.

    A recording's features are the mean of its windows'. Returns the hits (n, 5) of `patient_hits` for each window.
    """
    (pooled,) = cached_features(encoder, [test], cache)
    _, first, recording = np.unique(test.recording, return_index=True, return_inverse=True)  # (R,), (n,)
    patient = np.unique(test.patient[first], return_inverse=True)[1]  # (R,)
    means = torch.from_numpy(pooled_by(recording, pooled, "mean"))  # (R, K)
    hits = patient_hits(means, torch.from_numpy(patient)).numpy()  # (R, 5)
    return Outcome(hits[recording], hits[:0], {})


def linear_probe(encoder: Encoder, task: Task, strengths: Sequence[float], cache: EvaluationCache) -> Outcome:
    """Fit a logistic regression on frozen features for each strength C and predict the test windows with the best."""
    sides = list(task.sides().values())
    key = (*strengths, task.multi, *[side.content for side in sides])
    if key not in cache.outcomes:
        cache.outcomes[key] = best_regression(cached_features(encoder, sides, cache), task, strengths)
    return cache.outcomes[key]


def best_regression(sides: Sequence[Floats], task: Task, strengths: Sequence[float]) -> Outcome:
    """Fit a logistic regression on the features (n, K) of the labelled side for each C and predict with the best."""
    train, validation, test = sides
    probes = [fit_regression(train, task.train.truth(), strength, task.multi) for strength in strengths]
    chosen_on = [probe(validation) for probe in probes]
    scores = [validation_score(probability, task) for probability in chosen_on]
    best = int(np.argmax(scores))
    training = {"C": strengths[best], f"validation_{task.criterion}": scores}
    return Outcome(probes[best](test), chosen_on[best], training)


def erased_probe(
    encoder: Encoder, task: Task, strengths: Sequence[float], cache: EvaluationCache, drawn_by: int | None
) -> Outcome:
    """Run the linear probe on features without the directions that tell patients of the same labels apart.

    They are orthogonal, and projected out of the standardised features. drawn_by: a seed of as many random directions
    in their stead. Where fewer than nine labelled patients have several recordings, there are fewer, which a note says.
    """
    sides = cached_features(encoder, task.sides().values(), cache)
    mean = sides[0].mean(axis=0)  # (K,)
    deviation = sides[0].std(axis=0) + 1e-6  # (K,)
    scaled = [(side - mean) / deviation for side in sides]  # (n, K) each
    directions = identity_directions(scaled[0], task.train)  # (K, D)
    if drawn_by is not None:
        draws = np.random.default_rng(stream("erased", drawn_by)).normal(size=directions.shape)
        directions = np.linalg.qr(draws).Q  # (K, D)
    outcome = best_regression([side - side @ directions @ directions.T for side in scaled], task, strengths)
    count = directions.shape[1]
    if count < DIRECTIONS:
        return replace(outcome, notes=[*outcome.notes, f"{count} of {DIRECTIONS} directions erased: few patients"])
    return outcome


def identity_directions(x: Floats, train: Windows) -> Floats:
    """Return orthonormal directions (K, <= 8) of features (n, K) in which patients of the same labels differ most.

    They are the principal directions of the means of the patients with several recordings, after the mean of all
    recordings with the same labels has been subtracted.
    """
    _, first, number = np.unique(train.recording, return_index=True, return_inverse=True)  # (R,), (n,)
    means = pooled_by(number, x, "mean")  # (R, K)
    labels = np.unique(train.truth()[first], axis=0, return_inverse=True)[1]  # (R,)
    residual = means - pooled_by(labels, means, "mean")[labels]  # (R, K)
    patient = np.unique(train.patient[first], return_inverse=True)[1]  # (R,)
    of_patients = pooled_by(patient, residual, "mean")[np.bincount(patient) > 1]  # (P, K)
    centred = of_patients - of_patients.mean(axis=0) if len(of_patients) else of_patients
    count = max(0, min(DIRECTIONS, len(centred) - 1))
    return np.asarray(np.linalg.svd(centred, full_matrices=False).Vh[:count].T)


def fit_regression(x: Floats, target: Ints, strength: float, multi: bool) -> Callable[[Floats], Floats]:
    """Fit one softmax regression, or one binary regression per class, of (n, K) and (n, C).

    Returns a function of features (n, K) that gives class probabilities (n, C), 0 without a labelled window. On
    correlated features L-BFGS with scikit-learn's tolerance stops far from the optimum, and Newton's method does not. A
    softmax has all classes in one Hessian matrix of (K C)^2 numbers, so that L-BFGS with a smaller tolerance fits it.
    """
    from sklearn.dummy import DummyClassifier  # here, because it loads slowly
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = target if multi else target.argmax(axis=1)  # (n, C) or (n,)
    regression = LogisticRegression(C=strength, max_iter=10_000, tol=1e-6)
    if multi:
        regression = OneVsRestClassifier(LogisticRegression(C=strength, solver="newton-cholesky"))
    elif len(np.unique(y)) == 1:
        regression = DummyClassifier()
    with warnings.catch_warnings(action="ignore"):  # of classes that no window has, or all have
        model = make_pipeline(StandardScaler(), regression).fit(x.astype(np.float64), y)

    def probe(x: Floats) -> Floats:
        probability = np.zeros((len(x), target.shape[1]), np.float32)  # (n, C)
        if len(x):
            probability[:, model.classes_] = model.predict_proba(x.astype(np.float64))
        return probability

    return probe


def principal_components(encoder: Encoder, task: Task, cache: EvaluationCache) -> list[Floats]:
    """Reduce the frozen features of each side to the principal components (n, <= 16) of the labelled windows."""
    from sklearn.decomposition import PCA  # here, because it loads slowly
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sides = cached_features(encoder, task.sides().values(), cache)
    components = min(COMPONENTS, *sides[0].shape)
    model = make_pipeline(StandardScaler(), PCA(components, svd_solver="full")).fit(sides[0])
    empty = np.empty((0, components), np.float32)
    return [model.transform(side) if len(side) else empty for side in sides]


def knn_probe(encoder: Encoder, task: Task, settings: Knn, cache: EvaluationCache) -> Outcome:
    """Vote among the nearest labelled windows, for each number of neighbours, and predict with the best."""
    train, validation, test = cached_features(encoder, task.sides().values(), cache)
    within = [min(count, len(train)) for count in settings.neighbours]
    counts = list(dict.fromkeys(within))
    target = task.train.target.cpu().numpy()  # (n, C)
    probabilities = votes(train, target, validation, counts, settings.temperature)
    criterion = "f1" if task.criterion == "f1" else "auroc"  # votes are no probabilities
    scores = [validation_score(probability, task, criterion) for probability in probabilities]
    best = int(np.argmax(scores))
    (probability,) = votes(train, target, test, [counts[best]], settings.temperature)
    training = {"neighbours": counts[best], f"validation_{criterion}": scores}
    return Outcome(probability, probabilities[best], training)


def votes(train: Floats, target: Floats, others: Floats, counts: Sequence[int], temperature: float) -> list[Floats]:
    """Give class probabilities (m, C) of `others` (m, K) by the votes of `train` (n, K), per number of neighbours.

    target: (n, C) multi-hot.
    """
    from scipy.sparse import csr_array
    from sklearn.neighbors import NearestNeighbors  # here, because it loads slowly

    neighbours = NearestNeighbors(n_neighbors=max(counts), metric="cosine").fit(train)
    distance, nearest = neighbours.kneighbors(others)  # (m, k), (m, k)
    weight = np.exp(-distance / temperature)  # (m, k)
    probabilities = []
    for count in counts:
        nearer = weight[:, :count]  # (m, count)
        share = nearer / nearer.sum(axis=1, keepdims=True)  # (m, count)
        starts = np.arange(0, share.size + 1, count)  # (m + 1,)
        entries = share.ravel(), nearest[:, :count].ravel(), starts
        voters = csr_array(entries, shape=(len(others), len(train)))
        probabilities.append((voters @ target).astype(np.float32))  # (m, C)
    return probabilities
