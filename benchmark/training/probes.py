"""Linear probes on frozen features: the suite's, and that of FIX.

The linear probe: logistic regression on standardised frozen pooled features, C by validation macro-F1.

The linear probe of FIX (arXiv 2602.17531): one logistic regression per class, its settings by validation log-loss.

Grid, in this order: features standardised or not, C, class weights; the first of the lowest multi-label log-losses is
used, and nothing is fitted again on the validation set.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.splits import DatasetTask, TaskSpec
from benchmark.data.task import Sides, Task, Windows
from benchmark.results.schema import digest
from benchmark.training.finetune import EVALUATION_BATCH, Outcome, validation_score
from benchmark.training.pretrain import autocast
from methods.encoders.base import Encoder

LINEAR_VERSION = 2
MAX_ITERATIONS = 1000

Floats = NDArray[np.float32]
NO_FEATURES: Floats = np.empty((0, 0), np.float32)
"""Those of a test side that is left out."""
Probe = Callable[[Floats], Floats]
"""Standardised features (n, K) -> class probabilities (n, C)."""
Fit = Callable[[Task, Floats, Floats, Floats], Outcome]
"""(task, features of its training, validation and test windows) -> outcome without its seconds."""


@dataclass(frozen=True)
class EvaluationCache:
    """What the evaluations of one encoder in one precision share."""

    encoders: dict[str, Encoder] = field(default_factory=dict)
    """Key of the pretraining -> its encoder, which every evaluation leaves as it is."""
    sides: dict[tuple[Path, DatasetTask, TaskSpec, bool], Sides] = field(default_factory=dict)
    """Folder of the prepared dataset, column, spec, whether it is tested -> what its tasks share."""
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


@torch.no_grad()
def pooled_features(encoder: Encoder, signal: Tensor, precision: str) -> Tensor:
    """Those of `features` on the device, which is not waited for."""
    encoder.eval()
    pooled = []
    for chunk in torch.split(signal, EVALUATION_BATCH[signal.device.type]):
        with autocast(signal.device, precision):
            pooled.append(encoder.pooled(chunk.float()).float())  # (b, K)
    return torch.cat(pooled)  # (n, K)


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


def _fit_best(strengths: Sequence[float], task: Task, *raw: Floats) -> Outcome:
    from sklearn.preprocessing import StandardScaler  # here, because it loads slowly

    scaler = StandardScaler().fit(raw[0])
    train, validation, test = (scaler.transform(x) if len(x) else x for x in raw)
    target = task.train.target.cpu().numpy().astype(np.int64)  # (n, C)
    probes, scores, unconverged = [], [], 0
    for strength in strengths:
        probe, converged = fit_probe(train, target, strength, multi=task.multi)
        probes.append(probe)
        scores.append(validation_score(probe(validation), task))
        unconverged += not converged
    best = int(np.argmax(scores))
    notes = (
        [f"{unconverged} of {len(strengths)} probes stopped after {MAX_ITERATIONS} iterations"] if unconverged else []
    )
    return Outcome(probes[best](test), {"C": strengths[best], "validation_f1": scores}, notes)


def fit_probe(x: Floats, target: NDArray[np.int64], strength: float, *, multi: bool) -> tuple[Probe, bool]:
    """One softmax regression, or one binary regression per class, of (n, K) and (n, C); and whether all converged."""
    if not multi:
        return _fit(x, target.argmax(axis=1), target.shape[1], strength)
    fitted = [_fit(x, target[:, c], 2, strength) for c in range(target.shape[1])]

    def probe(x: Floats) -> Floats:
        return np.stack([positive(x)[:, 1] for positive, _ in fitted], axis=1)  # (n, C)

    return probe, all(converged for _, converged in fitted)


def _fit(x: Floats, y: NDArray[np.int64], classes: int, strength: float) -> tuple[Probe, bool]:
    """A softmax regression over the classes present in y; the others get probability 0."""
    from sklearn.exceptions import ConvergenceWarning  # here, because it loads slowly
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y)
    if len(present) == 1:
        return lambda x: np.eye(classes, dtype=np.float32)[np.full(len(x), present[0])], True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(C=strength, max_iter=MAX_ITERATIONS).fit(x, y)

    def probe(x: Floats) -> Floats:
        probability = np.zeros((len(x), classes), dtype=np.float32)  # (n, C)
        if len(x):
            probability[:, present] = model.predict_proba(x)
        return probability

    return probe, not any(issubclass(w.category, ConvergenceWarning) for w in caught)


Array = NDArray[np.float32]
Labels = NDArray[np.int64]
Setting = tuple[bool, float, str | None]
"""Standardised or not, inverse regularisation strength C, class weight."""
SCALES, STRENGTHS, CLASS_WEIGHTS = (True, False), (0.01, 0.1, 1.0, 10.0), (None, "balanced")
FIX_ITERATIONS = 10_000
CLIP = 1e-7
"""Least distance of a probability from 0 and 1 in the log-loss: a class with one sign is predicted with certainty."""


def probe(x_train: Array, y_train: Labels, x_val: Array, y_val: Labels, x_test: Array) -> tuple[Array, Setting]:
    """Probabilities (n_test, C) of the classes, each on its own, and the setting that was chosen.

    x: features (n, K). y: multi-hot labels (n, C). Without validation rows the first setting is used.
    """
    best: tuple[float, Setting, Array] | None = None
    for setting, (validation, test) in fitted(x_train, y_train, x_val, x_test):
        loss = log_loss(validation, y_val) if len(y_val) else 0.0
        if best is None or loss < best[0]:
            best = loss, setting, test
    assert best is not None, "the grid is not empty"
    return best[2], best[1]


def fitted(x_train: Array, y_train: Labels, *others: Array) -> Iterator[tuple[Setting, list[Array]]]:
    """Each setting of the grid with its probabilities (n, C) on each of the other feature matrices."""
    from sklearn.preprocessing import StandardScaler  # here, because it loads slowly

    for scaled in SCALES:
        scaler = StandardScaler(with_mean=scaled, with_std=scaled).fit(x_train)
        train, *rest = (scaler.transform(x) if len(x) else x for x in (x_train, *others))
        for strength, weight in product(STRENGTHS, CLASS_WEIGHTS):
            of_class = [class_probability(train, y, strength, weight, rest) for y in y_train.T]
            found = [np.stack(columns, axis=1) for columns in zip(*of_class, strict=True)]  # (n, C) each
            yield (scaled, strength, weight), found


def class_probability(x: Array, y: Labels, strength: float, weight: str | None, others: list[Array]) -> list[Array]:
    """Probability (n,) of one class on each of `others`: 0 or 1 throughout where the labels (n,) have one sign."""
    from sklearn.exceptions import ConvergenceWarning  # here, because it loads slowly
    from sklearn.linear_model import LogisticRegression

    if y.min() == y.max():
        return [np.full(len(other), y[0], np.float32) for other in others]
    model = LogisticRegression(C=strength, class_weight=weight, max_iter=FIX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # such a setting competes by its loss as it is
        model.fit(x, y)
    return [model.predict_proba(other)[:, 1].astype(np.float32) if len(other) else other[:, 0] for other in others]


def log_loss(probability: Array, truth: Labels) -> float:
    """Mean binary cross-entropy over the entries of (n, C)."""
    p = np.clip(probability.astype(np.float64), CLIP, 1 - CLIP)
    return float(-np.mean(np.where(truth > 0, np.log(p), np.log1p(-p))))
