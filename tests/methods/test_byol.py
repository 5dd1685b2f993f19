"""BYOL's loss against a plain loop, the momentum's schedule, and which branch sees which view."""

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


def make_byol(**knobs: object) -> BYOL:
    settings = {"time_mask": 0.0, "frequency_mask": 0.0, **knobs}
    return BYOL(make.encoder(depth=3, output=8), BYOLConfig(**settings))  # type: ignore[arg-type]


def test_both_views_pass_through_both_branches() -> None:
    method, batch = make_byol(), make.batch(range(5), steps=40)
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


def test_the_target_follows_ever_more_slowly() -> None:
    method = make_byol(momentum=0.8)
    method.begin(updates=4)
    for done in range(4):
        before = method.momentum_encoder.input.weight.clone()
        with torch.no_grad():
            method.encoder.input.weight.add_(1.0)
        method.after_step()
        momentum = 1 - 0.2 * (math.cos(math.pi * done / 4) + 1) / 2
        expected = momentum * before + (1 - momentum) * method.encoder.input.weight
        torch.testing.assert_close(method.momentum_encoder.input.weight, expected)
    assert method.momentum() == 1.0
    method.after_step()
    assert method.momentum() == 1.0  # more updates than were announced


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_a_constant_or_untold_schedule_stays_at_its_start(schedule: str) -> None:
    method = make_byol(momentum=0.9, momentum_schedule=schedule)
    if schedule == "constant":
        method.begin(updates=2)
    for _ in range(3):
        assert float(method.momentum()) == pytest.approx(0.9)
        method.after_step()
