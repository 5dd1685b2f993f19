"""VICReg's loss and its terms against the official values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.vicreg import covariance_term, variance_term, vicreg_loss
from tests.methods.official import agrees, arrays_of

WEIGHTS = {"vicreg_25_25_1_on_0.6x": (25.0, 25.0, 1.0), "vicreg_10_5_2_on_0.6x": (10.0, 5.0, 2.0)}


@pytest.mark.parametrize("key", WEIGHTS)
def test_equals_the_official_loss(shared_reference: Path, key: str) -> None:
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
