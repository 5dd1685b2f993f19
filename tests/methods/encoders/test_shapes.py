"""Widths are read without a trace, and steps are counted from the end."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from methods.encoders.s4 import S4, S4Config
from methods.encoders.shapes import output_step, refuse_single, width_of
from tests.methods.tokens import Patches, PatchesConfig


def test_a_width_is_read_without_a_trace() -> None:
    encoder = ResNet1d(ResNet1dConfig.small()).train()
    before, generator = {name: value.clone() for name, value in encoder.state_dict().items()}, torch.get_rng_state()
    assert width_of(encoder, encoder.embed) == 16
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert torch.equal(torch.get_rng_state(), generator)
    assert encoder.training


def test_windows_of_a_length_that_the_encoder_takes_are_read() -> None:
    encoder = Patches(PatchesConfig(patch=7))
    assert width_of(encoder, encoder.patches) == 7 * 12
    short = S4(S4Config(output=8, depth=1, states=4, length=40))
    assert width_of(short, short) == 8
    assert width_of(Dilated(DilatedConfig(hidden=3)), Dilated(DilatedConfig(hidden=3)).embed) == 3


@pytest.mark.parametrize(
    ("embedded", "output", "expected"),
    [
        (4, 4, [0, 1, 2, 3]),
        (8, 2, [0, 0, 0, 0, 1, 1, 1, 1]),
        (3, 4, [1, 2, 3]),  # a class token in front
        (5, 2, [0, 0, 1, 1, 1]),
    ],
)
def test_steps_are_counted_from_the_end(embedded: int, output: int, expected: list[int]) -> None:
    assert output_step(torch.arange(embedded), embedded, output).tolist() == expected


def test_two_steps_are_enough() -> None:
    refuse_single("cpc", 2)
    with pytest.raises(ValueError, match="cpc: the encoder gives 1 step"):
        refuse_single("cpc", 1)
