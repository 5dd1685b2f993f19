"""BYOL's loss against a plain loop, and which branch sees which view."""

from __future__ import annotations

import math

import pytest
import torch

from methods.byol import BYOL, BYOLConfig, byol_loss
from tests import make


def test_is_two_minus_twice_the_cosine() -> None:
    torch.manual_seed(0)
    p, z = torch.randn(5, 7, dtype=torch.float64), 3 * torch.randn(5, 7, dtype=torch.float64)
    cosines = []
    for i in range(5):
        dot = math.fsum(a * b for a, b in zip(p[i].tolist(), z[i].tolist(), strict=True))
        lengths = [math.sqrt(math.fsum(a * a for a in row.tolist())) for row in (p[i], z[i])]
        cosines.append(dot / (lengths[0] * lengths[1]))
    assert byol_loss(p, z).item() == pytest.approx(2 - 2 * sum(cosines) / 5, rel=1e-12)
    assert byol_loss(p, 2 * p).item() == pytest.approx(0, abs=1e-12)
    assert byol_loss(p, -p).item() == pytest.approx(4, rel=1e-12)


def test_both_views_pass_through_both_branches() -> None:
    method = BYOL(make.encoder(), BYOLConfig(time_mask=0.0, frequency_mask=0.0))
    batch = make.batch(range(5), steps=40)
    with torch.no_grad():
        for parameter in method.momentum_encoder.parameters():
            parameter.mul_(1.3)
    loss = method(batch)
    torch.testing.assert_close(loss, method(batch._replace(x1=batch.x2, x2=batch.x1)))
    p1 = method.prediction_head(method.projection_head(method.encoder.pooled(batch.x1)))
    p2 = method.prediction_head(method.projection_head(method.encoder.pooled(batch.x2)))
    z1 = method.momentum_projection_head(method.momentum_encoder.pooled(batch.x1))
    z2 = method.momentum_projection_head(method.momentum_encoder.pooled(batch.x2))
    torch.testing.assert_close(loss, (byol_loss(p1, z2) + byol_loss(p2, z1)) / 2)
