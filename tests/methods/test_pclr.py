"""NT-Xent against the official value; its double loop is in parts/test_losses.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from methods.pclr import nt_xent


@pytest.mark.parametrize("name", ["losses_a", "losses_c"])
def test_equals_the_official_loss(shared_reference: Path, name: str) -> None:
    with np.load(shared_reference / f"{name}.npz") as arrays:
        z1, z2 = torch.from_numpy(arrays["clocs_views"]).unbind(2)
        expected = float(arrays["clocs_simclr"])
    assert nt_xent(z1, z2, 0.1).item() == pytest.approx(expected, rel=1e-5)
