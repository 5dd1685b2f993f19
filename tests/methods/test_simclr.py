"""SimCLR's loss against the official values, its head and its views."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.simclr import SimCLR, SimCLRConfig, simclr_loss
from tests.methods.official import agrees, arrays_of


@pytest.mark.parametrize("temperature", [0.1, 0.5])
def test_equals_the_official_loss(shared_reference: Path, temperature: float) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    agrees(arrays, f"ntxent_t{temperature}", partial(simclr_loss, temperature=temperature), "pair/a", "pair/b")


def test_a_head_without_normalisation_projects_two_masked_views() -> None:
    torch.manual_seed(0)
    config = SimCLRConfig(time_mask=0.0, frequency_mask=0.0)
    method = SimCLR(Dilated(DilatedConfig(hidden=4, depth=2, output=6)), config)
    assert [type(module) for module in method.projection] == [nn.Linear, nn.ReLU, nn.Linear]  # type: ignore[arg-type]
    x = torch.randn(3, 20, 12)
    batch = Batch(x, x, *[torch.arange(3)] * 3)
    z = method.projection(method.encoder.pooled(x))
    torch.testing.assert_close(method(batch), simclr_loss(z, z, 0.1))
    masked = SimCLR(method.encoder, SimCLRConfig())
    masked.load_state_dict(method.state_dict())
    assert masked(batch) > method(batch)  # the views of one window differ by their masks alone
