"""resnet1d gives the official module's features, in training and evaluation, and takes on its weights."""

from __future__ import annotations

import pytest
import torch

from methods.encoders import load_official
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig


@pytest.mark.parametrize(("steps", "coarse"), [(300, 75), (250, 63), (101, 26), (5, 2), (4, 1), (1, 1)])
def test_a_time_step_of_the_output_is_four_of_the_input(steps: int, coarse: int) -> None:
    encoder = ResNet1d(ResNet1dConfig(leads=3, output=8)).eval()
    x = torch.randn(2, steps, 3)
    assert encoder(x).shape == (2, coarse, 8)
    assert encoder.embed(x).shape == (2, steps, 8)


def test_the_sizes_follow_the_official_tensors() -> None:
    ours = ResNet1d(ResNet1dConfig(leads=8, output=4))
    names = {"stem.": "", **{f"blocks.{block}.": f"{block + 3}.0." for block in range(3)}, "shortcut": "downsample"}
    official = {}
    for name, value in ours.state_dict().items():
        for own, theirs in names.items():
            name = name.replace(own, theirs)
        official[name] = value
    loaded = load_official("resnet1d", official)
    assert loaded.config == ours.config
    x = torch.randn(2, 40, 8)
    assert torch.equal(loaded.eval()(x), ours.eval()(x))
