"""NT-Xent against the official value and a double loop, and PCLR's head."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.pclr import PCLR, PCLRConfig, nt_xent


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


def test_gradients_are_right() -> None:
    z1, z2 = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda a, b: nt_xent(a, b, 0.5), (z1, z2))


def test_the_head_has_two_layers_without_normalisation() -> None:
    torch.manual_seed(0)
    method = PCLR(Dilated(DilatedConfig(hidden=4, depth=2, output=6)), PCLRConfig())
    assert [type(module) for module in method.projection_head] == [nn.Linear, nn.ReLU, nn.Linear]
    x1, x2 = torch.randn(2, 3, 20, 12)
    z1, z2 = (method.projection_head(method.encoder.pooled(x)) for x in (x1, x2))
    torch.testing.assert_close(method(Batch(x1, x2, *[torch.arange(3)] * 3)), nt_xent(z1, z2, 0.1))
