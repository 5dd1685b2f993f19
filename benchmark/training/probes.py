"""The linear probe on frozen features: logistic regressions whose C is chosen on the validation windows by macro-F1.

On standardised features; one softmax regression, or one regression per class of several labels. The first of the best
C is used, and nothing is fitted again on the validation set.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from benchmark.data.splits import DatasetTask, TaskSpec
from benchmark.data.task import Sides, Task, Windows
from benchmark.results.schema import digest
from benchmark.training.finetune import Outcome, in_batches, validation_score
from methods.encoders.base import Encoder

LINEAR_VERSION = 3
MAX_ITERATIONS = 1000
Floats = NDArray[np.float32]
NO_FEATURES: Floats = np.empty((0, 0), np.float32)
"""Those of a test side that is left out."""
Labels = NDArray[np.int64]
Probe = Callable[[Floats], Floats]
"""Features (n, K), standardised -> class probabilities (n, C)."""
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
    from sklearn.preprocessing import StandardScaler  # here, because it loads slowly

    scaler = StandardScaler().fit(train)
    train, validation, test = (scaler.transform(x) if len(x) else x for x in (train, validation, test))
    target = task.train.target.cpu().numpy().astype(np.int64)  # (n, C)
    fitted = [fit_probe(train, target, strength, task.multi) for strength in strengths]
    scores = [validation_score(probe(validation), task) for probe, _ in fitted]
    best = int(np.argmax(scores))
    unconverged = sum(not converged for _, converged in fitted)
    stopped = f"{unconverged} of {len(strengths)} probes stopped after {MAX_ITERATIONS} iterations"
    training = {"C": strengths[best], "validation_f1": scores}
    return Outcome(fitted[best][0](test), training, [stopped] if unconverged else [])


def fit_probe(x: Floats, target: Labels, strength: float, per_class: bool) -> tuple[Probe, bool]:
    """One softmax regression, or one binary regression per class, of (n, K) and (n, C); and whether all converged."""
    if not per_class:
        return _fit(x, target.argmax(axis=1), target.shape[1], strength)
    fitted = [_fit(x, y, 2, strength) for y in target.T]

    def probe(x: Floats) -> Floats:
        return np.stack([positive(x)[:, 1] for positive, _ in fitted], axis=1)  # (n, C)

    return probe, all(converged for _, converged in fitted)


def _fit(x: Floats, y: Labels, classes: int, strength: float) -> tuple[Probe, bool]:
    """A softmax regression over the classes present in y (n,); the others get probability 0."""
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
