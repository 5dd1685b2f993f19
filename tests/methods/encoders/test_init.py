"""First outputs of the encoders stay, and an encoder is identified by its name and sizes."""

from __future__ import annotations

import pytest
import torch

from methods.encoders import DEFAULT, ENCODERS, identity
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig

FIRST = {
    "dilated": (2632, (2, 300, 16), 0.335455, 0.2125),
    "resnet1d": (8288, (2, 75, 16), 0.073873, 0.073873),
    "xresnet1d101": (10848, (2, 10, 32), 16.295055, 16.295053),
    "vit1d": (7392, (2, 151, 16), 0.889155, 0.78643),
    "s4": (2784, (2, 150, 16), 0.83376, 0.818543),
}
"""Of the small encoder of seed 0: parameters, shape, and the mean sizes of steps and of pooled representations."""


@pytest.mark.parametrize("name", ENCODERS)
@torch.no_grad()
def test_a_seed_gives_the_same_encoder_from_version_to_version(name: str) -> None:
    torch.manual_seed(0)
    encoder = ENCODERS[name](ENCODERS[name].Config.small()).eval()
    parameters, shape, size, pooled = FIRST[name]
    x = torch.randn(2, 300, 12, generator=torch.Generator().manual_seed(1))
    steps = encoder(x)
    assert (sum(p.numel() for p in encoder.parameters()), tuple(steps.shape)) == (parameters, shape)
    assert float(steps.abs().mean()) == pytest.approx(size, rel=1e-4)
    assert float(encoder.pooled(x).abs().mean()) == pytest.approx(pooled, rel=1e-4)


def test_an_encoder_is_known_by_its_name_and_sizes() -> None:
    assert DEFAULT == "dilated"
    assert identity(Dilated, DilatedConfig(hidden=16, output=64, dropout=0.1)) == {
        "name": "dilated", "leads": 12, "hidden": 16, "depth": 10, "output": 64, "dropout": 0.0, "pool": 1,
    }  # fmt: skip
    assert identity(ResNet1d, ResNet1dConfig()) == {"name": "resnet1d", "leads": 12, "output": 128, "dropout": 0.0}
