"""Batch normalisation over all ranks is torch's on one process; on several, see test_ranks.py."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from benchmark.training import batch_norm
from benchmark.training.batch_norm import OverAllRanks, over_ranks


@pytest.mark.parametrize("knobs", [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("shape", [(6, 3), (2, 3), (6, 3, 5)])
def test_it_is_torchs_in_values_gradients_and_running_statistics(shape: tuple[int, ...], knobs: dict[str, Any]) -> None:
    torch.manual_seed(0)
    plain = nn.BatchNorm1d(3, **knobs)
    for parameter in plain.parameters():
        nn.init.uniform_(parameter, 0.5, 2.0)
    ours = deepcopy(plain)
    ours.__class__ = OverAllRanks  # type: ignore[assignment]
    for _ in range(3):
        x = 2 * torch.randn(shape) + 5
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        outputs = [layer(own) for layer, own in zip((plain, ours), inputs, strict=True)]
        torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-5, atol=1e-5)
        weight = torch.randn(shape)
        for out in outputs:
            (out * weight).sum().backward()
        torch.testing.assert_close(inputs[1].grad, inputs[0].grad, rtol=1e-4, atol=1e-5)
    for (name, value), kept in zip(plain.state_dict().items(), ours.state_dict().values(), strict=True):
        torch.testing.assert_close(kept, value, msg=lambda text, name=name: f"{name}: {text}")
    torch.testing.assert_close(ours.eval()(x), plain.eval()(x))


def test_on_two_ranks_running_statistics_are_those_of_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    shares = torch.randn(2, 3, 4, 5) * torch.tensor([1.0, 3.0]).view(2, 1, 1, 1) + 2  # (ranks, B, C, T)
    elsewhere = torch.stack([shares[1].mean((0, 2)), shares[1].var((0, 2), correction=0)])  # (2, C)
    monkeypatch.setattr(batch_norm, "gather_with_gradient", lambda own: torch.cat([own, elsewhere[None]]))
    plain, ours = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    ours.__class__ = OverAllRanks  # type: ignore[assignment]
    torch.testing.assert_close(ours(shares[0]), plain(shares.flatten(0, 1))[:3])
    for (name, value), kept in zip(plain.state_dict().items(), ours.state_dict().values(), strict=True):
        torch.testing.assert_close(kept, value, msg=lambda text, name=name: f"{name}: {text}")


def test_only_batch_normalisations_are_over_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_norm, "rank_and_ranks", lambda: (0, 2))
    head = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with over_ranks(head, "synchronised"):
        assert [type(layer) for layer in head] == [nn.Linear, OverAllRanks]
    assert [type(layer) for layer in head] == [nn.Linear, nn.BatchNorm1d]
    with over_ranks(head, "per-rank"):
        assert type(head[1]) is nn.BatchNorm1d


def test_half_precision_goes_in_and_comes_out() -> None:
    layer = nn.BatchNorm1d(3)
    layer.__class__ = OverAllRanks  # type: ignore[assignment]
    out = layer((torch.randn(64, 3) + 100).bfloat16())
    assert out.dtype == torch.bfloat16
    assert float(out.detach().float().mean().abs()) < 0.01


def test_on_one_process_layers_stay_as_they_are() -> None:
    head = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with over_ranks(head, "synchronised"):
        assert type(head[1]) is nn.BatchNorm1d
