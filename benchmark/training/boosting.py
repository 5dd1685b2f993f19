"""The row `features`: gradient boosting on hand-crafted beat features, the classical baseline; and rows of one of them.

The evaluation `combined` boosts on the same beat features with the features of a frozen encoder beside them.

It uses the same windows (at 250 Hz), labels and splits as the encoders, and minimises the same unweighted
cross-entropy. Leaf size and iteration are those with the best validation score in the protocol's unit, the first of
equals. The seed draws the features available to each split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmark.config.schema import Boosting
from benchmark.data.heartbeats import FS
from benchmark.data.task import Task, Windows
from benchmark.machine import stream
from benchmark.results.arrays import Floats, Halves, Ints
from benchmark.training.features import beat_features, read_by
from benchmark.training.finetune import Outcome, validation_score

Stages = Callable[[Floats], Iterator[Floats]]
"""Features (n, F) -> class probabilities (n, C) after each iteration."""
FEATURES: dict[tuple[bytes, int], Floats] = {}
"""SHA-256 of a window and its rate -> its features (F,), of the last dataset of this process: cells share windows."""


def boost(
    task: Task,
    settings: Boosting,
    *,
    rate: int = FS,
    seed: int,
    measures: str = "features",
    beside: Sequence[Floats] = (),
) -> Outcome:
    """Boost trees on the features of the labelled windows and predict the test windows with the best leaf size.

    measures: the row, which reads all features or one of them. beside: further features (n, K) of each side.
    A single-label task gets one softmax model, a multi-label one a binary model per class. Classes without a labelled
    window get probability 0.
    """
    import sklearn.ensemble  # noqa: F401  before the limit of threads, which what is loaded has

    if FEATURES.keys().isdisjoint(keys_of(task.test, rate)):
        FEATURES.clear()  # they are of another dataset
    sides = [read_by(measures, features_of(side, rate)) for side in task.sides().values()]
    if beside:
        sides = [np.hstack(features) for features in zip(sides, beside, strict=True)]
    train, validation, test = sides  # (n, F) each
    with threadpool_limits(torch.get_num_threads(), user_api="openmp"):
        models = [fit(train, task, settings, leaf, seed) for leaf in settings.leaf_windows]
        curves = []
        for stages in models:
            curves.append([validation_score(probability, task) for probability in stages(validation)])
        best = int(np.argmax([max(curve) for curve in curves]))
        last = int(np.argmax(curves[best]))
        probability, chosen_on = (next(islice(models[best](side), last, None)) for side in (test, validation))
    training = {"leaf_windows": settings.leaf_windows[best], "best_iteration": last + 1}
    return Outcome(probability, chosen_on, training | {f"validation_{task.criterion}": curves[best]})


def keys_of(side: Windows, rate: int) -> list[tuple[bytes, int]]:
    """Return what determines the features of each window at `rate` Hz: a digest of its samples, and the rate."""
    return [(hashlib.sha256(window).digest(), rate) for window in side.signal.cpu().numpy()]


def features_of(side: Windows, rate: int) -> Floats:
    """Give the beat features (n, F) of windows at `rate` Hz, each of which is measured once."""
    keys = keys_of(side, rate)
    number = {key: number for number, key in enumerate(keys) if key not in FEATURES}
    if number:
        windows = side.signal[list(number.values())].cpu().numpy()  # (m, S, L)
        FEATURES.update(zip(number, beat_features(at_250_hz(windows, rate)), strict=True))
    return np.stack([FEATURES[key] for key in keys])


def at_250_hz(windows: Halves, rate: int) -> NDArray[np.floating]:
    """Interpolate windows (n, S, L) at `rate` Hz linearly to 250 Hz, at which features are measured."""
    samples = windows.shape[1]
    if rate == FS:
        return windows
    position = np.linspace(0, samples - 1, samples * FS // rate)  # (S',)
    before = position.astype(np.intp)  # (S',)
    after = np.minimum(before + 1, samples - 1)  # (S',)
    share = (position - before).astype(np.float32)[:, None]  # (S', 1)
    return windows[:, before] * (1 - share) + windows[:, after] * share  # (n, S', L)


def fit(x: Floats, task: Task, settings: Boosting, leaf: int, seed: int) -> Stages:
    """Fit one softmax model of features (n, F) and the training labels, or one binary model per class."""
    target = task.train.truth()  # (n, C)
    if not task.multi:
        draws = stream("boosting", seed)
        return fit_one(x, target.argmax(axis=1), target.shape[1], settings, leaf, draws)
    models = []
    for number, is_positive in enumerate(target.T):
        draws = stream("boosting", seed, number)
        models.append(fit_one(x, is_positive, 2, settings, leaf, draws))

    def stages(x: Floats) -> Iterator[Floats]:
        by_class = [model(x) for model in models]
        for probabilities in zip(*by_class, strict=True):  # C of (n, 2)
            yield np.stack(probabilities, axis=2)[:, 1]

    return stages


def fit_one(x: Floats, y: Ints, classes: int, settings: Boosting, leaf: int, seed: int) -> Stages:
    """Fit a model over the classes present in y (n,); the others get probability 0."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # here, because it loads slowly

    present = np.unique(y)
    if len(present) == 1:
        certain = np.eye(classes, dtype=np.float32)[present]  # (1, C)
        return lambda x: repeat(certain.repeat(len(x), axis=0), settings.iterations)
    model = HistGradientBoostingClassifier(
        learning_rate=settings.learning_rate, max_iter=settings.iterations, max_leaf_nodes=settings.leaves,
        min_samples_leaf=leaf, l2_regularization=settings.l2, max_features=settings.feature_share,
        early_stopping=False,  # it would validate by windows, and the protocol's unit may be a recording
        random_state=seed % 2**32,
    ).fit(x, y)  # fmt: skip

    def stages(x: Floats) -> Iterator[Floats]:
        for staged in model.staged_predict_proba(x):
            probability = np.zeros((len(x), classes), np.float32)  # (n, C)
            probability[:, present] = staged
            yield probability

    return stages
