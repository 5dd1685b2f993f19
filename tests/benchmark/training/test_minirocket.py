"""MiniRocket: equal to aeon's, whose numbers `minirocket.npz` beside this file holds, and what the row learns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from benchmark.config.schema import MiniRocket
from benchmark.data.task import Task, Windows
from benchmark.training.minirocket import (
    KERNELS,
    Bank,
    bank_of,
    calibrate,
    dilations_of,
    draw_banks,
    minirocket,
    quantiles_of,
    ridge,
    transform,
)

FILE = Path(__file__).with_name("minirocket.npz")
SMALL = MiniRocket(features=336, dilations=4)


def banks_of(reference: dict[str, Any]) -> list[Bank]:
    """Kernels with aeon's dilations, leads and examples; the biases are ours."""
    x, quantiles = torch.from_numpy(reference["x"]).float(), quantiles_of(reference["features_per_dilation"])
    chosen = torch.zeros(len(reference["read"]), x.shape[2])  # (84 D, L)
    chosen[np.repeat(np.arange(len(chosen)), reference["read"]), reference["leads"]] = 1
    examples = x[reference["examples"]].unflatten(0, (-1, KERNELS))  # (D, 84, S, L)
    parameters_of_banks = zip(reference["dilations"].tolist(), chosen.split(KERNELS), examples, quantiles, strict=True)
    return [bank_of(*parameters) for parameters in parameters_of_banks]


def test_dilations_biases_and_features_are_those_of_aeon() -> None:
    """As aeon 1.6.0 has them on a few random walks."""
    reference = dict(np.load(FILE))
    kernels, seen = int(reference["kernels"]), reference["x"].shape[1]
    dilations, sizes = dilations_of(seen, kernels // KERNELS, 32)
    assert (dilations, sizes) == (reference["dilations"].tolist(), reference["features_per_dilation"].tolist())
    banks = banks_of(reference)
    biases = torch.cat([bank.bias.flatten() for bank in banks])  # (F,)
    np.testing.assert_allclose(biases, reference["biases"], rtol=1e-5, atol=1e-5)
    theirs = torch.from_numpy(reference["biases"]).split([bank.bias.numel() for bank in banks])
    banks = [bank._replace(bias=bias.view_as(bank.bias)) for bank, bias in zip(banks, theirs, strict=True)]
    np.testing.assert_allclose(transform(torch.from_numpy(reference["x"]), banks), reference["features"], atol=1e-5)


def test_a_kernel_reads_two_to_a_uniform_power_leads_and_its_biases_lie_within_the_outputs() -> None:
    """As many as nine: k leads with probability log2((k + 1) / k) / log2(10)."""
    windows = torch.randn(5, 900, 12, generator=torch.Generator().manual_seed(0))
    banks = draw_banks(windows, MiniRocket(features=84 * 40, dilations=40), np.random.default_rng(0))
    leads = torch.cat([bank.weights.any(2) for bank in banks])  # (84 D, L)
    shares = torch.bincount(leads.sum(1))[1:] / len(leads)  # (9,)
    np.testing.assert_allclose(shares, np.log10(np.arange(2, 11) / np.arange(1, 10)), atol=0.03)
    assert leads.double().mean(0).std() < 0.02  # each lead as often
    above = transform(windows, banks)  # (5, F)
    assert above.mean().item() == pytest.approx(0.5, abs=0.02)
    assert len(set(map(str, banks))) == len(banks) > 20


def task_of(labels: list[list[int]], *, multi: bool = False, classes: int = 3) -> Task:
    """Windows of noise; one of class c has a short wave in lead c somewhere, up in all of them or up and down."""

    def side(seed: int) -> Windows:
        random = np.random.default_rng(seed)
        target = np.zeros((len(labels), classes), np.float32)
        signal = random.normal(0, 0.3, size=(len(labels), 60, 3))
        for row, labelled, present in zip(signal, target, labels, strict=True):
            labelled[present] = 1
            for lead in range(3):
                start = random.integers(10, 40)
                wave = np.array([2.0, 2.0, -2.0, -2.0] if lead in present else [2.0, -2.0, 2.0, -2.0])
                row[start : start + 4, lead] += wave
        names = np.array([f"{seed}-{index}" for index in range(len(labels))], dtype=np.str_)
        return Windows(torch.from_numpy(signal).half(), torch.from_numpy(target), names, names)

    return Task(side(0), side(1), side(2), multi=multi, unit="heartbeat")


@pytest.mark.parametrize("multi", [False, True])
def test_it_learns_a_shape_whose_samples_have_the_same_distribution(multi: bool) -> None:
    labels = [[0, 1], [1], [2], [0]] if multi else [[0], [1], [2]]
    outcome = minirocket(task_of(labels * 30, multi=multi), SMALL, seed=41)
    truth = task_of(labels * 30, multi=multi).test.truth()
    guess = outcome.probability > 0.5 if multi else np.eye(3)[outcome.probability.argmax(axis=1)]
    assert (guess == truth).mean() > 0.85  # by chance two thirds at most
    assert outcome.probability.dtype == np.float32
    assert len(outcome.training["validation_f1"]) == len(SMALL.penalties)
    again, other = (minirocket(task_of(labels * 30, multi=multi), SMALL, seed=seed) for seed in (41, 42))
    np.testing.assert_array_equal(outcome.probability, again.probability)
    assert (outcome.probability != other.probability).any()


def test_the_slope_has_the_lowest_cross_entropy() -> None:
    task = task_of([[0, 1], [1], [2], [0]] * 30, multi=True)
    truth = task.validation.target
    scores = 4 * truth - 2 + 3 * torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))  # (n, C)
    slope = calibrate(scores, task)
    near = [float(F.binary_cross_entropy_with_logits(scores * slope * by, truth)) for by in (0.9, 1.0, 1.1)]
    assert near[1] == min(near)


@pytest.mark.parametrize("multi", [False, True])
def test_a_class_without_labelled_windows_has_probability_zero(multi: bool) -> None:
    task = task_of([[0], [2]] * 20, multi=multi)
    probability = minirocket(
        replace(task, validation=task_of([[0], [1], [2]] * 5).validation), SMALL, seed=1
    ).probability
    np.testing.assert_array_equal(probability[:, 1], 0.0)
    alone = minirocket(task_of([[1]]), SMALL, seed=1).probability
    np.testing.assert_array_equal(alone, [[0.0, 1.0, 0.0]])


@pytest.mark.parametrize("rows", [20, 90])
def test_the_regression_is_that_of_scikit_learn(rows: int) -> None:
    from sklearn.linear_model import Ridge

    x, y = torch.randn(rows, 40, generator=torch.Generator().manual_seed(0)), torch.eye(2)[torch.arange(rows) % 2]
    x, y = x - x.mean(0), y - y.mean(0)
    for penalty, weights in zip((10.0, 0.1), ridge(x, y, (10.0, 0.1)), strict=True):
        theirs = Ridge(alpha=penalty * rows, fit_intercept=False).fit(x, y).coef_.T
        np.testing.assert_allclose(weights, theirs, rtol=1e-3, atol=1e-5)
