"""The classical baseline: gradient boosting on hand-crafted beat features, best iteration by validation macro-F1.

It uses the same windows (at 250 Hz), labels and splits as the encoders, and minimises the same unweighted
cross-entropy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmark.config.sections.evaluate import Boosting
from benchmark.data.prepared.beats import FS
from benchmark.data.prepared.windows import Kind
from benchmark.data.tasks.task import Task
from benchmark.machine.seeds import stream
from benchmark.training.classical.features import beat_features
from benchmark.training.finetune import Outcome, validation_score

Floats = NDArray[np.float32]
Stages = Callable[[Floats], Iterator[Floats]]
"""Features (n, F) -> class probabilities (n, C) after each iteration of the boosting."""


def boost(task: Task, settings: Boosting, *, kind: Kind, rate: int = FS, seed: int) -> Outcome:
    """Boost trees on the features of the labelled windows and predict the test windows with the best iteration.

    A single-label task gets one softmax model, a multi-label one a binary model per class, all stopped at the same
    iteration. Iteration and leaf size maximise validation macro-F1 in the protocol's unit; the first of equals is
    taken. Classes without a labelled window get probability 0. The seed draws the features available to each split.
    """
    import sklearn.ensemble  # noqa: F401  here, because it loads slowly; before the limit, which what is loaded has

    with threadpool_limits(torch.get_num_threads(), user_api="openmp"):
        return _boost(task, settings, kind=kind, rate=rate, seed=seed)


def _boost(task: Task, settings: Boosting, *, kind: Kind, rate: int, seed: int) -> Outcome:
    started = time.perf_counter()
    train, validation, test = (
        beat_features(at_250_hz(side.signal.cpu().numpy(), rate), kind)
        for side in (task.train, task.validation, task.test)
    )
    target = task.train.target.cpu().numpy().astype(np.int64)  # (n, C)
    fitted, scores = [], []
    for leaf in settings.leaf_windows:
        rounds = fit(train, target, settings, leaf, multi=task.multi, seed=seed)
        stages, curve = until_no_better(rounds, validation, task)
        fitted.append(stages)
        scores.append(curve)
    chosen = int(np.argmax([max(curve) for curve in scores]))
    last = int(np.argmax(scores[chosen]))
    training = {
        "leaf_windows": settings.leaf_windows[chosen],
        "best_iteration": last + 1,
        "validation_f1": scores[chosen],
        "seconds": time.perf_counter() - started,
    }
    return Outcome(next(islice(fitted[chosen](test), last, None)), training)


def until_no_better(rounds: Iterator[Stages], validation: Floats, task: Task) -> tuple[Stages, list[float]]:
    """The model after the first round without a better validation score, or the last, and the score of each iteration.

    validation: (n, F).
    """
    scores: list[float] = []
    for stages in rounds:
        known = len(scores)
        scores += [validation_score(probability, task) for probability in islice(stages(validation), known, None)]
        if int(np.argmax(scores)) < known:
            break
    return stages, scores


def at_250_hz(windows: NDArray[np.float16], rate: int) -> NDArray[Any]:
    """Windows (n, S, L) at `rate` Hz, linearly interpolated to 250 Hz, at which features are measured."""
    samples = windows.shape[1]
    if rate == FS or not samples:
        return windows
    places = np.linspace(0, samples - 1, samples * FS // rate)  # (S',)
    before = places.astype(np.intp)  # (S',)
    after = np.minimum(before + 1, samples - 1)  # (S',)
    share = (places - before).astype(np.float32)[:, None]  # (S', 1)
    return windows[:, before] * (1 - share) + windows[:, after] * share  # (n, S', L)


def fit(
    x: Floats, target: NDArray[np.int64], settings: Boosting, leaf: int, *, multi: bool, seed: int
) -> Iterator[Stages]:
    """One softmax model of features (n, F) and targets (n, C), or one binary model per class, after each round.

    A round is `settings.patience` iterations. Each goes on with the same trees: only the newest `Stages` may be used.
    """
    if not multi:
        yield from _fit(x, target.argmax(axis=1), target.shape[1], settings, leaf, stream("boosting", seed))
        return
    rounds = [_fit(x, y, 2, settings, leaf, stream("boosting", seed, c)) for c, y in enumerate(target.T)]
    for fitted in zip(*rounds, strict=True):
        yield partial(_of_classes, fitted)


def _of_classes(fitted: Sequence[Stages], x: Floats) -> Iterator[Floats]:
    """The probabilities that binary models give for the presence of each class."""
    for of_classes in zip(*(binary(x) for binary in fitted), strict=True):
        yield np.stack([probability[:, 1] for probability in of_classes], axis=1)  # (n, C)


def _fit(x: Floats, y: NDArray[np.int64], classes: int, settings: Boosting, leaf: int, seed: int) -> Iterator[Stages]:
    """A softmax model over the classes present in y; the others get probability 0."""
    present = np.unique(y)
    ends = [*range(settings.patience, settings.iterations, settings.patience), settings.iterations]
    if len(present) == 1:
        certain = np.eye(classes, dtype=np.float32)[present[0]]  # (C,)
        for iterations in ends:
            yield partial(_certain, certain, iterations)
        return
    from sklearn.ensemble import HistGradientBoostingClassifier  # here, because it loads slowly

    model = HistGradientBoostingClassifier(
        learning_rate=settings.learning_rate,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=leaf,
        l2_regularization=settings.l2,
        max_features=settings.feature_share,
        early_stopping=False,  # it would validate on windows of training recordings
        warm_start=True,
        random_state=seed % 2**32,
    )
    for iterations in ends:
        model.set_params(max_iter=iterations).fit(x, y)
        yield partial(_stages, model, present, classes)


def _certain(probability: Floats, iterations: int, x: Floats) -> Iterator[Floats]:
    """The same probability (C,) for every window, at each iteration."""
    return repeat(np.tile(probability, (len(x), 1)), iterations)


def _stages(model: Any, present: NDArray[np.int64], classes: int, x: Floats) -> Iterator[Floats]:
    """The probabilities of a model of the classes `present`, with those of the other classes."""
    if not len(x):
        yield from repeat(np.zeros((0, classes), np.float32), model.n_iter_)
        return
    for staged in model.staged_predict_proba(x):
        probability = np.zeros((len(x), classes), np.float32)  # (n, C)
        probability[:, present] = staged
        yield probability
