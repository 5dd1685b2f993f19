"""What methods of two masked views share, and that a loss has to be given.

SimCLR's loss against the official values, its head and its views.

VICReg's loss and its terms against the official values.

Barlow Twins' loss against the official values.

SimSiam's loss against the official value, its stopped gradient and its heads.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import (
    Siamese,
    SiameseConfig,
    barlow_loss,
    covariance_term,
    simclr_loss,
    simsiam_loss,
    variance_term,
    vicreg_loss,
)
from tests.methods.official import agrees, arrays_of


class Unfinished(Siamese[SiameseConfig]):
    """Without a loss."""

    name: ClassVar[str] = "unfinished"


def test_under_autocast_the_loss_is_in_single_precision() -> None:
    seen: list[tuple[bool, torch.dtype, torch.dtype]] = []

    class Watched(Siamese[SiameseConfig]):
        name: ClassVar[str] = "watched"

        def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
            seen.append((torch.is_autocast_enabled("cpu"), z1.dtype, (z1 @ z2.mT).dtype))
            return z1.sum() + z2.sum()

    method, x = Watched(Dilated(DilatedConfig.small()), SiameseConfig()), torch.randn(3, 20, 12)
    with torch.autocast("cpu", torch.bfloat16):
        method(Batch(x, x, *[torch.arange(3)] * 3))
    assert seen == [(False, torch.float32, torch.float32)]


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


def test_a_collapsed_and_a_repeated_feature_cost() -> None:
    spread = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert variance_term(spread) == 0
    assert covariance_term(spread) == 0
    assert variance_term(torch.zeros(4, 2)) == pytest.approx(0.99)
    repeated = spread[:, :1].expand(-1, 2)
    assert covariance_term(repeated) == pytest.approx((4 / 3) ** 2)


@pytest.mark.parametrize("weight", [0.005, 0.05])
def test_equals_the_official_loss_barlow(shared_reference: Path, weight: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    loss = partial(barlow_loss, off_diagonal_weight=weight)
    agrees(arrays, f"barlow_lambda{weight}", loss, "pair/a", "pair/b")


def test_independent_features_cost_nothing() -> None:
    z = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert barlow_loss(z, z, 1.0) == pytest.approx(0, abs=1e-8)
    assert barlow_loss(z, z.flip(1), 1.0) == pytest.approx(4, rel=1e-4)
    assert barlow_loss(z, z.flip(1), 0.0) == pytest.approx(2, rel=1e-4)


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
