"""Initial weights of xresnet1d101."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.xresnet1d101 import normalised


def test_convolutions_start_normal_with_the_deviation_of_he() -> None:
    torch.manual_seed(0)
    weight = normalised(64, 64, 5)[0].weight
    assert weight.std().item() == pytest.approx((2 / (64 * 5)) ** 0.5, rel=0.02)
    assert weight.abs().max() > 3 * weight.std()  # not uniform
