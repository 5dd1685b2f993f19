"""The row `minirocket`: a ridge regression on MiniRocket's random convolutions, a reference without pretraining.

Dempster, Schmidt and Webb 2021 (KDD, arXiv 2012.08791), section 3; windows of several leads as the authors' code has
them (github.com/angus924/minirocket, `minirocket_multivariate.py`), which aeon follows. There are 84 kernels of nine
taps, of which three weigh 2 and six -1. At each dilation a kernel reads the sum of a few leads, and the quantiles of
what it gives for a labelled window are the biases of its features; a feature of a window is the share of samples at
which the convolution exceeds the bias. The regression has class targets of +1 and -1 on standardised features, and the
penalty with the best validation macro-F1. A probability is the softmax, or with several labels the sigmoid, of the
score times a slope: temperature scaling (Guo et al. 2017, section 4.2), by which no decision on a window changes. All
is computed on the CPU in fixed precision, so that a result does not depend on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from benchmark.config.schema import MiniRocket
from benchmark.data.task import Task
from benchmark.machine import stream
from benchmark.training.finetune import Outcome, probabilities, validation_score

TAPS, HALF, CLIP = 9, 4, 1e-7
HEAVY = torch.tensor(list(combinations(range(TAPS), 3)))  # (84, 3)
"""The taps of each kernel that weigh 2."""
KERNELS = len(HEAVY)
WEIGHTS = torch.full((KERNELS, TAPS), -1.0).scatter_(1, HEAVY, 2.0)  # (84, 9)
MOST_LEADS = 9
"""Of a kernel at a dilation."""
BATCH, ROWS = 16, 4096
"""Windows whose convolutions, and whose features in float64, are in memory at a time."""


class Bank(NamedTuple):
    """The 84 kernels at one dilation."""

    dilation: int
    weights: Tensor  # (84, L, 9) 0 for a lead that a kernel does not read
    bias: Tensor  # (84, f) of the features of each kernel


def minirocket(task: Task, settings: MiniRocket, *, seed: int) -> Outcome:
    """Draw the kernels, fit a regression per penalty on the labelled windows, predict the test windows with the best.

    The seed draws the leads of the kernels and the labelled windows of which their biases are quantiles. A class
    without a labelled window gets probability 0.
    """
    sides = [side.signal.cpu() for side in task.sides().values()]  # (n, S, L) each
    banks = draw_banks(sides[0], settings, np.random.default_rng(stream("minirocket", seed)))
    x, validation, test = (transform(signal, banks) for signal in sides)  # (n, F) each
    mean, deviation = x.mean(dim=0), x.std(dim=0, correction=0)  # (F,) each
    deviation[deviation < 1e-6] = 1.0  # of a constant feature, which rounding alone moves
    for features in (x, validation, test):
        features.sub_(mean).div_(deviation)
    target = task.train.target.cpu() * 2 - 1  # (n, C)
    level = target.mean(dim=0)  # (C,)
    floor = torch.where(level > -1, level, -torch.inf)  # (C,)
    models, scores = [], []
    for weights in ridge(x, target - level, settings.penalties):
        validation_scores = validation @ weights + floor  # (n, C)
        slope = calibrate(validation_scores, task)
        models.append((weights, slope))
        scores.append(validation_score(probabilities(validation_scores * slope, task.multi), task))
    best = int(np.argmax(scores))
    weights, slope = models[best]
    training = {"penalty": settings.penalties[best], "slope": slope, "validation_f1": scores}
    return Outcome(probabilities((test @ weights + floor) * slope, task.multi), training)


def draw_banks(windows: Tensor, settings: MiniRocket, random: np.random.Generator) -> list[Bank]:
    """Draw the kernels of each dilation for windows (n, S, L), of which the biases are learned (section 3, "Bias").

    A kernel reads 2^u leads, u uniform.
    """
    _, samples, count = windows.shape
    dilations, features = dilations_of(samples, settings.features // KERNELS, settings.dilations)
    banks = []
    for dilation, levels in zip(dilations, quantiles_of(features), strict=True):
        read = (2 ** random.uniform(0, np.log2(min(count, MOST_LEADS) + 1), KERNELS)).astype(int)  # (84,)
        leads = random.random((KERNELS, count)).argsort(axis=1).argsort(axis=1) < read[:, None]  # (84, L)
        examples = windows[random.integers(len(windows), size=KERNELS)]  # (84, S, L)
        banks.append(bank_of(dilation, torch.from_numpy(leads).float(), examples.float(), levels))
    return banks


def dilations_of(samples: int, per_kernel: int, most: int) -> tuple[list[int], list[int]]:
    """List the dilations for windows of S samples, and the features of a kernel at each, `per_kernel` in all.

    They are spread evenly on a logarithmic scale up to a kernel as long as the window (section 3, "Dilation").
    """
    count = min(per_kernel, most)
    spread = np.logspace(0, np.log2((samples - 1) / (TAPS - 1)), count, base=2).astype(int)
    dilations, times = np.unique(spread, return_counts=True)
    features = (times * (per_kernel / count)).astype(int)
    rest = per_kernel - features.sum()
    features += rest // len(features) + (np.arange(len(features)) < rest % len(features))
    return dilations.tolist(), features.tolist()


def quantiles_of(features: Sequence[int]) -> list[NDArray[np.float64]]:
    """Compute the quantiles (84, f) of the biases at each dilation: multiples of the golden ratio, modulo 1.

    They have the precision of the authors' and of aeon's, float32.
    """
    multiples = np.arange(1, KERNELS * sum(features) + 1) * (np.sqrt(5) + 1) / 2 % 1  # (F,)
    parts = np.split(multiples.astype(np.float32).astype(np.float64), KERNELS * np.cumsum(features)[:-1])
    return [part.reshape(KERNELS, -1) for part in parts]


def bank_of(dilation: int, leads: Tensor, examples: Tensor, quantiles: NDArray[np.float64]) -> Bank:
    """Make the kernels at a dilation, whose biases are quantiles (84, f) of their output for a window each, (84, S, L).

    leads: (84, L) 1 where a kernel reads the lead, else 0.
    """
    x, weights = examples.mT.flatten(0, 1), leads[:, :, None] * WEIGHTS[:, None]  # (84 L, S), (84, L, 9)
    responses = F.conv1d(x, weights, padding=HALF * dilation, dilation=dilation, groups=KERNELS)  # (84, S)
    biases = [np.quantile(row, levels) for row, levels in zip(responses.numpy(), quantiles, strict=True)]
    return Bank(dilation, weights, torch.from_numpy(np.stack(biases)).float())


def transform(signal: Tensor, banks: Sequence[Bank]) -> Tensor:
    """Compute the features (n, F) of windows (n, S, L): of each dilation, of each kernel, of each bias."""
    return torch.cat([
        torch.cat([shares_above(x.float().mT, bank, number % 2) for number, bank in enumerate(banks)], dim=1)
        for x in torch.split(signal, BATCH)
    ])  # fmt: skip


def shares_above(x: Tensor, bank: Bank, first: int) -> Tensor:
    """Compute the share of samples at which each kernel exceeds each bias: (B, L, S) -> (B, 84 f).

    Every second kernel, from the number `first`, 0 or 1, reads windows padded with zeros, the others only places where
    they lie within the window; at the next dilation it is the other way round (section 3, "Padding").
    """
    shares = x.new_empty(len(x), *bank.bias.shape)  # (B, 84, f)
    for which, padding in ((first, HALF * bank.dilation), (1 - first, 0)):
        output = F.conv1d(x, bank.weights[which::2], padding=padding, dilation=bank.dilation)  # (B, 42, S')
        above = torch.empty_like(output)  # writing 0 and 1 takes a sixth of the time of booleans
        for number, level in enumerate(bank.bias[which::2].T):
            shares[:, which::2, number] = torch.gt(output, level[:, None], out=above).mean(dim=2)
    return shares.flatten(1)


def ridge(x: Tensor, y: Tensor, penalties: Sequence[float]) -> Iterator[Tensor]:
    """Yield the weights (F, C) of centred x (n, F) and y (n, C) under each penalty, which counts once per row.

    They solve the normal equations of the fewer unknowns, a weight per feature or per window.
    """
    wide = len(x) < x.shape[1]
    if wide:
        gram, right = x.double() @ x.double().T, y.double()  # (n, n), (n, C)
    else:
        gram = right = torch.zeros((), dtype=torch.float64)
        for rows, truth in zip(torch.split(x, ROWS), torch.split(y.double(), ROWS), strict=True):
            rows = rows.double()  # (r, F)
            gram, right = gram + rows.T @ rows, right + rows.T @ truth  # (F, F), (F, C)
    for penalty in penalties:
        damped = gram + penalty * len(x) * torch.eye(len(gram), dtype=gram.dtype)  # (F, F) or (n, n)
        solved = torch.cholesky_solve(right, torch.linalg.cholesky(damped)).float()
        yield x.T @ solved if wide else solved


def calibrate(scores: Tensor, task: Task) -> float:
    """Find the slope at which probabilities of validation scores (n, C) have the lowest binary cross-entropy."""
    from scipy.optimize import minimize_scalar  # here, because it loads slowly

    truth = task.validation.truth() > 0  # (n, C)

    def loss(logarithm: float) -> float:
        p = probabilities(scores * float(np.exp(logarithm)), task.multi).astype(np.float64)
        p = np.clip(p, CLIP, 1 - CLIP)  # (n, C), as a class with one sign is predicted with certainty
        return float(-np.mean(np.where(truth, np.log(p), np.log1p(-p))))

    return float(np.exp(minimize_scalar(loss, bounds=np.log([0.1, 1000.0]), method="bounded").x))
