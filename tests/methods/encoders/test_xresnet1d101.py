"""Initial weights of xresnet1d101, and the time steps of its output."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.xresnet1d101 import XResNet1d101, XResNet1d101Config, normalised


def test_convolutions_start_normal_with_the_deviation_of_he() -> None:
    torch.manual_seed(0)
    weight = normalised(64, 64, 5)[0].weight
    assert weight.std().item() == pytest.approx((2 / (64 * 5)) ** 0.5, rel=0.02)
    assert weight.abs().max() > 3 * weight.std()  # not uniform


@pytest.mark.parametrize(("steps", "coarse"), [(300, 10), (250, 8), (101, 4), (33, 2), (32, 1)])
def test_a_time_step_of_the_output_is_thirty_two_of_the_input(steps: int, coarse: int) -> None:
    encoder = XResNet1d101(XResNet1d101Config(leads=3, output=32, third_stage=1)).eval()
    x = torch.randn(2, steps, 3)
    assert encoder(x).shape == (2, coarse, 32)
    assert encoder.embed(x).shape == (2, -(-steps // 2), 8)
