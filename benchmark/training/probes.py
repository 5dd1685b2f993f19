"""Linear probes on frozen features: logistic regressions whose settings are chosen on the validation windows.

The suite's: on standardised features, C by validation macro-F1; one softmax regression, or one regression per class of
several labels. That of FIX (arXiv 2602.17531): one regression per class, by validation log-loss over a grid of features
standardised or not, C and class weights. The first of the best settings is used, and nothing is fitted again on the
validation set.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.splits import DatasetTask, TaskSpec
from benchmark.data.task import Sides, Task, Windows
from benchmark.results.schema import digest
from benchmark.training.finetune import Outcome, in_batches, validation_score
from methods.encoders.base import Encoder

LINEAR_VERSION = 2
MAX_ITERATIONS = 1000
SCALES, STRENGTHS, CLASS_WEIGHTS = (True, False), (0.01, 0.1, 1.0, 10.0), (None, "balanced")
"""FIX's grid, in this order."""
FIX_ITERATIONS = 10_000
CLIP = 1e-7
"""Least distance of a probability from 0 and 1 in the log-loss: a class with one sign is predicted with certainty."""

Floats = NDArray[np.float32]
NO_FEATURES: Floats = np.empty((0, 0), np.float32)
"""Those of a test side that is left out."""
Labels = NDArray[np.int64]
Probe = Callable[[Floats], Floats]
"""Features (n, K), standardised or not -> class probabilities (n, C)."""
Setting = tuple[bool, float, str | None]
"""Features standardised or not, inverse regularisation strength C, class weight."""
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
    """Pooled features (n, K) of windows (n, S, L), in evaluation mode."""
    return pooled_features(encoder, signal, precision).cpu().numpy()


def pooled_features(encoder: Encoder, signal: Tensor, precision: str) -> Tensor:
    """Those of `features` on the device, which is not waited for."""
    return in_batches(encoder, encoder.pooled, signal, precision)  # (n, K)


def linear_probe(
    encoder: Encoder, task: Task, strengths: Sequence[float], *, precision: str, known: EvaluationCache | None = None
) -> Outcome:
    """Fit a logistic regression on frozen features for each strength C and predict the test windows with the best.

    `known`: what earlier probes on this encoder in this precision found; this probe's results are added.
    """
    fit = partial(_fit_best, strengths)
    return cached_probe(
        encoder, task, strengths, fit, precision=precision, known=EvaluationCache() if known is None else known
    )


def cached_probe(
    encoder: Encoder, task: Task, what: Sequence[Any], fit: Fit, *, precision: str, known: EvaluationCache
) -> Outcome:
    """The outcome of a probe on the frozen features of a task, from `known` if it is there; else it is added.

    what: the probe and its settings, by which outcomes on one task are told apart.
    """
    started = time.perf_counter()
    encoder = encoder.to(task.train.signal.device)
    sides = list(task.sides().values())
    names = [side.content[0] for side in sides]
    whole = digest([*(side.content for side in sides), task.multi, task.unit, *what])
    if whole not in known.outcomes:
        for name, side in zip(names, sides, strict=True):
            if name not in known.features:
                known.features[name] = features(encoder, side.signal, precision) if len(side) else NO_FEATURES
        train, validation, test = (known.features[name] for name in names)
        known.outcomes[whole] = fit(task, train, validation, test)
        known.outcomes[whole].training["seconds"] = time.perf_counter() - started
    found = known.outcomes[whole]
    return replace(found, training=dict(found.training), notes=list(found.notes))


def _fit_best(strengths: Sequence[float], task: Task, train: Floats, validation: Floats, test: Floats) -> Outcome:
    chosen = best_probe(
        [(True, strength, None) for strength in strengths],
        train,
        task.train.target.cpu().numpy().astype(np.int64),  # (n, C)
        [validation, test],
        lambda probability: validation_score(probability, task),
        per_class=task.multi,
        iterations=MAX_ITERATIONS,
    )
    stopped = f"{chosen.unconverged} of {len(strengths)} probes stopped after {MAX_ITERATIONS} iterations"
    training = {"C": chosen.setting[1], "validation_f1": chosen.scores}
    return Outcome(chosen.probability, training, [stopped] if chosen.unconverged else [])


def fix_probe(x_train: Floats, y_train: Labels, x_val: Floats, y_val: Labels, x_test: Floats) -> Chosen:
    """FIX's probe; a setting that does not converge competes by its log-loss as it is.

    x: features (n, K). y: multi-hot labels (n, C). Without validation rows the first setting is used.
    """
    return best_probe(
        list(product(SCALES, STRENGTHS, CLASS_WEIGHTS)),
        x_train,
        y_train,
        [x_val, x_test],
        lambda probability: -log_loss(probability, y_val) if len(y_val) else 0.0,
        per_class=True,
        iterations=FIX_ITERATIONS,
    )


class Chosen(NamedTuple):
    """The first of the best settings."""

    probability: Floats
    """(n, C) of the test windows."""
    setting: Setting
    scores: list[float]
    """Of each setting, on the validation windows."""
    unconverged: int
    """Settings under which a regression did not converge."""


def best_probe(
    settings: Sequence[Setting],
    x: Floats,
    target: Labels,
    others: Sequence[Floats],
    score: Callable[[Floats], float],
    *,
    per_class: bool,
    iterations: int,
) -> Chosen:
    """Fit a probe to features (n, K) and multi-hot targets (n, C) under each setting, and choose by the score.

    others: features of the validation windows, on whose probabilities `score` is, and of the test windows. per_class:
    one binary regression for each class, else one softmax regression.
    """
    from sklearn.preprocessing import StandardScaler  # here, because it loads slowly

    scaled = {}
    for scale in dict.fromkeys(scale for scale, _, _ in settings):
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(x)
        scaled[scale] = [scaler.transform(own) if len(own) else own for own in (x, *others)]
    probes: list[Probe] = []
    scores, unconverged = [], 0
    for scale, strength, weight in settings:
        probe, converged = fit_probe(scaled[scale][0], target, strength, weight, per_class, iterations)
        probes.append(probe)
        scores.append(score(probe(scaled[scale][1])))
        unconverged += not converged
    best = int(np.argmax(scores))
    return Chosen(probes[best](scaled[settings[best][0]][2]), settings[best], scores, unconverged)


def fit_probe(
    x: Floats, target: Labels, strength: float, weight: str | None, per_class: bool, iterations: int
) -> tuple[Probe, bool]:
    """One softmax regression, or one binary regression per class, of (n, K) and (n, C); and whether all converged."""
    if not per_class:
        return _fit(x, target.argmax(axis=1), target.shape[1], strength, weight, iterations)
    fitted = [_fit(x, y, 2, strength, weight, iterations) for y in target.T]

    def probe(x: Floats) -> Floats:
        return np.stack([positive(x)[:, 1] for positive, _ in fitted], axis=1)  # (n, C)

    return probe, all(converged for _, converged in fitted)


def _fit(
    x: Floats, y: Labels, classes: int, strength: float, weight: str | None, iterations: int
) -> tuple[Probe, bool]:
    """A softmax regression over the classes present in y (n,); the others get probability 0."""
    from sklearn.exceptions import ConvergenceWarning  # here, because it loads slowly
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y)
    if len(present) == 1:
        return lambda x: np.eye(classes, dtype=np.float32)[np.full(len(x), present[0])], True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(C=strength, class_weight=weight, max_iter=iterations).fit(x, y)

    def probe(x: Floats) -> Floats:
        probability = np.zeros((len(x), classes), dtype=np.float32)  # (n, C)
        if len(x):
            probability[:, present] = model.predict_proba(x)
        return probability

    return probe, not any(issubclass(w.category, ConvergenceWarning) for w in caught)


def log_loss(probability: Floats, truth: Labels) -> float:
    """Mean binary cross-entropy over the entries of (n, C)."""
    p = np.clip(probability.astype(np.float64), CLIP, 1 - CLIP)
    return float(-np.mean(np.where(truth > 0, np.log(p), np.log1p(-p))))
