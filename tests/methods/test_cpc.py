"""CPC's loss against the official values, its negatives, and that the future stays hidden from the context."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from methods.cpc import CPC, CPCConfig, cpc_loss, other_steps
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from tests import make
from tests.methods.official import agrees, arrays_of

FORMS = ("ai4h_any", "ai4h_same", "ai4h_same_norm_t0.1", "ai4h_interval", "hhi_same0", "hhi_same1")


@pytest.mark.parametrize("form", FORMS)
def test_equals_the_official_loss(shared_reference: Path, form: str) -> None:
    arrays = arrays_of(shared_reference, "objectives_dev.npz")
    setting = str(arrays[f"cpc_{form}/setting"])
    steps = int(re.findall(r"steps_predicted=(\d+)", setting)[0])
    temperature = float((re.findall(r"temperature=(\d+\.\d+)", setting) or ["1"])[0])
    negatives = torch.from_numpy(arrays[f"cpc_{form}/negatives_flat_index"])

    def loss(predicted: Tensor, encoded: Tensor) -> Tensor:
        if "normalize=True" in setting:
            predicted, encoded = F.normalize(predicted, dim=-1), F.normalize(encoded, dim=-1)
        return cpc_loss(predicted, encoded, negatives, steps, temperature)

    agrees(arrays, f"cpc_{form}", loss, "cpc/predicted", "cpc/encoded")


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
