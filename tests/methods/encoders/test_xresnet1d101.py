"""xresnet1d101 gives the official module's features, in training and evaluation, and takes on its weights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from methods.encoders import load_official
from methods.encoders.xresnet1d101 import XResNet1d101, XResNet1d101Config, normalised
from tests.methods.encoders.official import FIRST, SECOND, official_module


def test_either_name_of_a_tensor_will_do_and_the_second_counts(shared_reference: Path) -> None:
    _, state = official_module(shared_reference, "xresnet1d101")
    x = torch.randn(2, 64, 12)
    whole = load_official("xresnet1d101", state).eval()(x)
    kept = {left: {n: v for n, v in state.items() if left not in n} for left in (FIRST, SECOND)}
    for one in kept.values():
        assert torch.equal(load_official("xresnet1d101", one).eval()(x), whole)
    differing = {name: value + 1 if FIRST in name else value for name, value in reversed(state.items())}
    assert torch.equal(load_official("xresnet1d101", differing).eval()(x), whole)


def test_all_sizes_follow_the_official_tensors() -> None:
    ours = XResNet1d101(XResNet1d101Config(leads=3, output=16, third_stage=2))
    official = {}
    for name, value in ours.state_dict().items():
        if match := re.fullmatch(r"stem\.(\d)\.(.+)", name):
            name = f"{int(match[1]) // 2}.{match[2]}"
        elif match := re.fullmatch(r"stages\.(\d)\.(\d+)\.(?:path\.(\d)|shortcut\.1)\.(.+)", name):
            part = f"convs.{int(match[3]) // 2}" if match[3] else "idpath.1"
            name = f"{int(match[1]) + 4}.{match[2]}.{part}.{match[4]}"
        official[name] = value
    loaded = load_official("xresnet1d101", official)
    assert loaded.config == ours.config
    x = torch.randn(2, 64, 3)
    assert torch.equal(loaded.eval()(x), ours.eval()(x))


def test_convolutions_start_normal_with_the_deviation_of_he() -> None:
    torch.manual_seed(0)
    weight = normalised(64, 64, 5)[0].weight
    assert weight.std().item() == pytest.approx((2 / (64 * 5)) ** 0.5, rel=0.02)
    assert weight.abs().max() > 3 * weight.std()  # not uniform


def test_every_batch_normalisation_starts_at_one() -> None:
    encoder = XResNet1d101(XResNet1d101Config.small())
    assert all(bool((p == 1).all()) for name, p in encoder.named_parameters() if p.ndim == 1 and "weight" in name)


@pytest.mark.parametrize(("steps", "coarse"), [(300, 10), (250, 8), (101, 4), (33, 2), (32, 1)])
def test_a_time_step_of_the_output_is_thirty_two_of_the_input(steps: int, coarse: int) -> None:
    encoder = XResNet1d101(XResNet1d101Config(leads=3, output=32, third_stage=1)).eval()
    x = torch.randn(2, steps, 3)
    assert encoder(x).shape == (2, coarse, 32)
    assert encoder.embed(x).shape == (2, -(-steps // 2), 8)


def test_shorter_windows_are_refused() -> None:
    assert XResNet1d101Config().unfit(31) == "its steps are 32 samples apart; use windows of 32 or more"
    assert XResNet1d101Config().unfit(32) == ""
