"""NT-Xent against the official value and a double loop, and PCLR's head."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.pclr import nt_xent


@pytest.mark.parametrize("name", ["losses_a", "losses_c"])
def test_equals_the_official_loss(shared_reference: Path, name: str) -> None:
    with np.load(shared_reference / f"{name}.npz") as arrays:
        z1, z2 = torch.from_numpy(arrays["clocs_views"]).unbind(2)
        expected = float(arrays["clocs_simclr"])
    assert nt_xent(z1, z2, 0.1).item() == pytest.approx(expected, rel=1e-5)


def looped(z1: Tensor, z2: Tensor, temperature: float) -> float:
    rows = torch.cat([z1, z2])
    count, losses = len(z1), []
    for i in range(2 * count):
        similarity = [math.exp(torch.cosine_similarity(rows[i], row, dim=0).item() / temperature) for row in rows]
        total = math.fsum(value for j, value in enumerate(similarity) if j != i)
        losses.append(-math.log(similarity[(i + count) % (2 * count)] / total))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_equals_the_double_loop(count: int, temperature: float) -> None:
    torch.manual_seed(2)
    z1, z2 = torch.randn(2, count, 6, dtype=torch.float64)
    ours = nt_xent(z1, z2, temperature)
    assert ours.shape == ()
    assert ours.item() == pytest.approx(looped(z1, z2, temperature), rel=1e-12, abs=1e-12)
