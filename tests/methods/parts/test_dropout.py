"""Dropout: share, scale, the same elements in the backward pass, independent draws, no draw outside training."""

from __future__ import annotations

import pytest
import torch

from methods.parts.dropout import dropout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_so_many_are_dropped_and_the_mean_stays(share: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(500, 401, dtype=dtype)  # not a multiple of four
    y = dropout(x, share, training=True)
    assert y.dtype == dtype
    for quarter in (y.flatten()[i::4] for i in range(4)):  # each from its own bits of a draw
        assert float((quarter == 0).double().mean()) == pytest.approx(share, abs=0.01)
    assert float(y.double().mean()) == pytest.approx(1.0, abs=0.02)
    torch.testing.assert_close(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - share)), rtol=1e-2, atol=0)


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(0)
    zero = (dropout(torch.ones(400_000), 0.3, training=True) == 0).double()
    for distance in (1, 2, 3, 4):
        assert float((zero[distance:] * zero[:-distance]).mean()) == pytest.approx(0.09, abs=0.003)


def test_the_gradient_passes_where_the_value_did() -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 30, requires_grad=True)
    y = dropout(x, 0.4, training=True)
    weights = torch.randn_like(y)
    (y * weights).sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, weights / 0.6), rtol=1e-4, atol=1e-6)


def test_the_seed_decides() -> None:
    x = torch.ones(1000)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(dropout(x, 0.5, training=True))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_nothing_is_drawn_where_nothing_is_dropped() -> None:
    x = torch.randn(8)
    before = torch.get_rng_state()
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_a_share_close_to_one_stays_finite() -> None:
    found = dropout(torch.ones(1_000_000), 0.9999999, training=True)
    assert sorted({*found.tolist()}) == [0, 2**16]
