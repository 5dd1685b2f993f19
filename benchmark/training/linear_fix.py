"""The linear probe of FIX (arXiv 2602.17531): one logistic regression per class, its settings by validation log-loss.

Grid, in this order: features standardised or not, C, class weights; the first of the lowest multi-label log-losses is
used, and nothing is fitted again on the validation set.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Labels = NDArray[np.int64]
Setting = tuple[bool, float, str | None]
"""Standardised or not, inverse regularisation strength C, class weight."""
SCALES, STRENGTHS, CLASS_WEIGHTS = (True, False), (0.01, 0.1, 1.0, 10.0), (None, "balanced")
MAX_ITERATIONS = 10_000
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
    model = LogisticRegression(C=strength, class_weight=weight, max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # such a setting competes by its loss as it is
        model.fit(x, y)
    return [model.predict_proba(other)[:, 1].astype(np.float32) if len(other) else other[:, 0] for other in others]


def log_loss(probability: Array, truth: Labels) -> float:
    """Mean binary cross-entropy over the entries of (n, C)."""
    p = np.clip(probability.astype(np.float64), CLIP, 1 - CLIP)
    return float(-np.mean(np.where(truth > 0, np.log(p), np.log1p(-p))))
