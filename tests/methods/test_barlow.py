"""Barlow Twins' loss against the official values."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from methods.barlow import barlow_loss
from tests.methods.official import agrees, arrays_of


@pytest.mark.parametrize("weight", [0.005, 0.05])
def test_equals_the_official_loss(shared_reference: Path, weight: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    loss = partial(barlow_loss, off_diagonal_weight=weight)
    agrees(arrays, f"barlow_lambda{weight}", loss, "pair/a", "pair/b")


def test_independent_features_cost_nothing() -> None:
    z = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert barlow_loss(z, z, 1.0) == pytest.approx(0, abs=1e-8)
    assert barlow_loss(z, z.flip(1), 1.0) == pytest.approx(4, rel=1e-4)
    assert barlow_loss(z, z.flip(1), 0.0) == pytest.approx(2, rel=1e-4)
