"""The plain encoder, masks, momentum and heartbeats compute what those of the suite do."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.parts.momentum import update_momentum
from tests.speed.plain_steps import (
    PlainDilated,
    follow,
    host_frequency_mask,
    host_spans_mask,
    host_time_mask,
    plain_heartbeats,
)

SIZE = DilatedConfig(leads=3, hidden=8, depth=4, output=12)


def encoders() -> tuple[Dilated, PlainDilated]:
    torch.manual_seed(0)
    ours, plain = Dilated(SIZE).double(), PlainDilated(SIZE).double()
    plain.load_state_dict(ours.state_dict())
    return ours, plain


def test_the_plain_encoder_computes_what_ours_does() -> None:
    ours, plain = encoders()
    for steps in (10, 40):  # the last block's dilation of 16 is above and below
        x = torch.randn(2, steps, 3, dtype=torch.float64)
        torch.testing.assert_close(plain(x), ours(x))
        torch.testing.assert_close(plain.pooled(x), ours.pooled(x))


def test_gradients_are_equal_too() -> None:
    x = torch.randn(2, 10, 3, dtype=torch.float64)
    grads = []
    for encoder in encoders():
        encoder.pooled(x).square().sum().backward()  # type: ignore[no-untyped-call]
        grads.append([p.grad for p in encoder.parameters()])
    for ours, plain in zip(*grads, strict=True):
        torch.testing.assert_close(ours, plain)


def test_masks_hide_the_share_they_are_told() -> None:
    x = torch.ones(40, 50, 4)
    steps = host_time_mask(x, 0.3)
    assert abs((steps == 0).float().mean().item() - 0.3) < 0.05
    assert torch.equal(steps, steps[..., :1].expand_as(steps))  # all channels together
    hidden = host_spans_mask(x, 1, 0.2) == 0
    assert torch.equal(hidden[..., 0].sum(1), torch.full((40,), 10))


def test_the_frequency_mask_removes_energy_and_keeps_the_length() -> None:
    x = torch.randn(20, 51, 6)
    masked = host_frequency_mask(x, 0.5)
    assert masked.shape == x.shape
    assert 0.3 < (masked.square().sum() / x.square().sum()).item() < 0.7


def test_follow_is_the_momentum_update() -> None:
    source, target = encoders()
    for parameter in target.parameters():
        parameter.data.zero_()
    ours = copy.deepcopy(target)
    follow(target, source, 0.9)
    update_momentum(ours, source, 0.9)
    for a, b in zip(target.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(("diagnosis", "fs"), [("NORM", 500.0), ("LBBB", 500.0), ("NORM", 250.0)])
def test_the_windows_are_those_of_the_suite(diagnosis: str, fs: float) -> None:
    signal = simulate(diagnosis, seed=3, seconds=10.0, fs=fs)
    ours = heartbeats(signal, fs).windows
    plain = plain_heartbeats(signal, fs)
    assert plain.shape == ours.shape
    np.testing.assert_allclose(plain, ours, atol=1e-5)
