"""CPC's negatives, and that the future stays hidden from the context."""

from __future__ import annotations

import pytest
import torch

from methods.cpc import CPC, CPCConfig, other_steps
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from tests import make


def test_negatives_are_all_steps_but_the_right_one() -> None:
    drawn = other_steps(batch=2, steps=3, count=400, device=torch.device("cpu"))  # (2, 2, 400)
    assert drawn.shape == (2, 2, 400)
    for position in range(2):
        for window in range(2):
            right = 3 * window + position + 1
            assert set(drawn[position, window].tolist()) == set(range(6)) - {right}


def test_the_context_does_not_see_the_future() -> None:
    torch.manual_seed(0)
    method = CPC(Dilated(DilatedConfig.small()), CPCConfig()).eval()
    embedded, cut = torch.randn(3, 20, 8), torch.tensor([[1], [7], [20]])
    past = torch.arange(20) < cut
    other = torch.where(past.unsqueeze(2), embedded, torch.randn(3, 20, 8))
    assert torch.equal(method.context(embedded, past, cut), method.context(other, past, cut))
    seen = method.context(embedded + 1.0, past, cut)
    assert not torch.equal(method.context(embedded, past, cut), seen)


@pytest.mark.parametrize("steps", [2, 3, 9, 40])
def test_few_steps_shorten_the_horizon(steps: int) -> None:
    torch.manual_seed(0)
    method = CPC(ResNet1d(ResNet1dConfig.small()), CPCConfig(negatives=10_000))
    chance = torch.tensor(10_001.0).log().item() * min(12, steps // 2)
    with torch.no_grad():
        method.prediction_head.weight.zero_()
    assert method(make.batch(steps=steps)).item() == pytest.approx(chance, rel=1e-5)
