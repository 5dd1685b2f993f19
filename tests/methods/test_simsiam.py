"""SimSiam's loss against the official value, its stopped gradient and its heads."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import SiameseConfig
from methods.simsiam import SimSiam, simsiam_loss
from tests.methods.official import agrees, arrays_of


def test_equals_the_official_loss(shared_reference: Path) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    z1, z2 = (torch.from_numpy(arrays[f"simsiam/z{view}"]) for view in range(2))
    agrees(arrays, "simsiam", lambda p1, p2: simsiam_loss(p1, z1, p2, z2), "simsiam/p0", "simsiam/p1")


def test_projections_get_no_gradient_as_targets() -> None:
    p1, z1, p2, z2 = (torch.randn(3, 4, requires_grad=True) for _ in range(4))
    simsiam_loss(p1, z1, p2, z2).backward()
    assert z1.grad is None
    assert z2.grad is None
    assert p1.grad is not None


def test_the_projection_ends_normalised_and_the_prediction_does_not() -> None:
    method = SimSiam(Dilated(DilatedConfig.small()), SiameseConfig())
    projection, prediction = (
        [type(part) for part in head.children()] for head in (method.projection, method.prediction)
    )
    layer = [nn.Linear, nn.BatchNorm1d]
    assert projection == [*layer, nn.ReLU, *layer, nn.ReLU, *layer]
    assert prediction == [*layer, nn.ReLU, nn.Linear]
