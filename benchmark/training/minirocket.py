"""The row `minirocket`: a ridge regression on MiniRocket's random convolutions, a reference without pretraining.

The features are those of Dempster, Schmidt and Webb 2021 (KDD, arXiv 2012.08791), section 3, as aeon computes them for
windows of several leads: the share of samples at which a dilated kernel of nine taps exceeds a quantile of its output
for a labelled window. The regression has class targets of +1 and -1 on standardised features, and the penalty with the
best validation score. A probability is the softmax, or with several labels the sigmoid, of the score times a slope:
temperature scaling (Guo et al. 2017, section 4.2), by which no decision on a window changes.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmark.config.schema import MiniRocket
from benchmark.data.task import Task, Windows
from benchmark.machine import stream
from benchmark.results.metrics import log_likelihood
from benchmark.training.finetune import Outcome, probabilities, validation_score


def minirocket(task: Task, settings: MiniRocket, *, seed: int) -> Outcome:
    """Draw the kernels, fit a regression per penalty on the labelled windows, predict the test windows with the best.

    The seed draws the leads of the kernels and the labelled windows of which their biases are quantiles. A class
    without a labelled window gets probability 0. Needs aeon, the extra `minirocket`.
    """
    from aeon.transformations.collection.convolution_based import MiniRocket as Kernels  # here, as they load slowly
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    draws = stream("minirocket", seed) % 2**32
    kernels = Kernels(settings.features, settings.dilations, random_state=draws)
    scaler = StandardScaler(copy=False)
    signal = leads_first(task.train)  # (n, L, S)
    x = kernels.fit(signal).transform(signal).astype(np.float64)  # (n, F)
    x = scaler.fit_transform(x)
    y = task.train.target.cpu().numpy() * 2 - 1  # (n, C)
    penalties = len(settings.penalties)
    classes = y.shape[1]
    alpha = np.repeat(np.multiply(settings.penalties, len(x)), classes)  # (P C,)
    model = Ridge(alpha, copy_X=False).fit(x, np.tile(y, penalties))

    def scores_of(side: Windows) -> Tensor:
        features = kernels.transform(leads_first(side))  # (n, F)
        scores = model.predict(scaler.transform(features)).reshape(-1, penalties, classes)  # (n, P, C)
        scores[:, :, (y < 0).all(axis=0)] = -np.inf
        return torch.from_numpy(scores.swapaxes(0, 1).copy())  # (P, n, C)

    slopes, validation = [], []
    for scores in scores_of(task.validation):  # (n, C)
        slope = calibrate(scores, task)
        slopes.append(slope)
        validation.append(probabilities(scores * slope, task.multi))
    curve = [validation_score(probability, task) for probability in validation]
    best = int(np.argmax(curve))
    training = {"penalty": settings.penalties[best], "slope": slopes[best], f"validation_{task.criterion}": curve}
    test_scores = scores_of(task.test)[best].float() * slopes[best]  # (n, C)
    return Outcome(probabilities(test_scores, task.multi), validation[best].astype(np.float32), training)


def leads_first(side: Windows) -> NDArray[np.float32]:
    """Return the windows of a side as aeon takes them: (n, L, S)."""
    return side.signal.cpu().float().mT.contiguous().numpy()


def calibrate(scores: Tensor, task: Task) -> float:
    """Find the slope at which probabilities of validation scores (n, C) have the lowest binary cross-entropy."""
    from scipy.optimize import minimize_scalar  # here, because it loads slowly

    truth = task.validation.truth()  # (n, C)

    def loss(logarithm: float) -> float:
        probability = probabilities(scores.double() * np.exp(logarithm), task.multi)  # (n, C)
        return -log_likelihood(truth, probability, multi=True)

    lowest = minimize_scalar(loss, bounds=np.log([0.1, 1000.0]), method="bounded")
    return float(np.exp(lowest.x))
