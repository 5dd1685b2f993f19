"""Losses of SimCLR, VICReg, Barlow Twins and SimSiam against the official values."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from methods.siamese import (
    barlow_loss,
    covariance_term,
    simclr_loss,
    simsiam_loss,
    variance_term,
    vicreg_loss,
)
from tests.methods.official import agrees, arrays_of


@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_equals_the_official_loss(shared_reference: Path, temperature: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    agrees(arrays, f"ntxent_t{temperature}", partial(simclr_loss, temperature=temperature), "pair/a", "pair/b")


WEIGHTS = {"vicreg_25_25_1_on_0.6x": (25.0, 25.0, 1.0), "vicreg_10_5_2_on_0.6x": (10.0, 5.0, 2.0)}


@pytest.mark.parametrize("key", WEIGHTS)
def test_equals_the_official_loss_vicreg(shared_reference: Path, key: str) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    scaled = {name: 0.6 * arrays[name] for name in ("pair/a", "pair/b")}
    agrees(arrays | scaled, key, lambda a, b: vicreg_loss(a, b, *WEIGHTS[key]), "pair/a", "pair/b")


def test_equals_the_official_terms(shared_reference: Path) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    a, b = (torch.from_numpy(0.6 * arrays[name]) for name in ("pair/a", "pair/b"))
    ours = [vicreg_loss(a, b, 1, 0, 0), *map(variance_term, (a, b)), *map(covariance_term, (a, b))]
    np.testing.assert_allclose(torch.stack(ours), arrays["vicreg_terms_on_0.6x"], rtol=1e-5)


@pytest.mark.parametrize("weight", [0.005, 0.05])
def test_equals_the_official_loss_barlow(shared_reference: Path, weight: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    loss = partial(barlow_loss, off_diagonal_weight=weight)
    agrees(arrays, f"barlow_lambda{weight}", loss, "pair/a", "pair/b")


def test_equals_the_official_loss_simsiam(shared_reference: Path) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    z1, z2 = (torch.from_numpy(arrays[f"simsiam/z{view}"]) for view in range(2))
    agrees(arrays, "simsiam", lambda p1, p2: simsiam_loss(p1, z1, p2, z2), "simsiam/p0", "simsiam/p1")


def test_projections_get_no_gradient_as_targets() -> None:
    p1, z1, p2, z2 = (torch.randn(3, 4, requires_grad=True) for _ in range(4))
    simsiam_loss(p1, z1, p2, z2).backward()
    assert z1.grad is None
    assert z2.grad is None
    assert p1.grad is not None
