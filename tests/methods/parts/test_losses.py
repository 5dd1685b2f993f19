"""Shared losses against double loops, their edge cases and their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.parts.losses import (
    info_nce,
    scaled_similarity,
    shared_id_nce,
    two_view_nce,
    unit_length,
)


def looped(logits: Tensor, own: list[int], candidates: Tensor) -> float:
    """InfoNCE by the book: one anchor and one candidate at a time. own: each anchor's positive; candidates: (N, C)."""
    values = []
    for i, positive in enumerate(own):
        total = math.fsum(math.exp(logits[i, j]) for j in range(logits.shape[1]) if candidates[i, j])
        values.append(-math.log(math.exp(logits[i, positive]) / total))
    return sum(values) / len(values)


def test_info_nce_is_the_cross_entropy_of_its_own_column() -> None:
    q, k = (unit_length(torch.randn(6, 4, dtype=torch.float64)) for _ in range(2))
    expected = looped(q @ k.T / 0.1, list(range(6)), torch.ones(6, 6, dtype=torch.bool))
    assert info_nce(q, k, 0.1).item() == pytest.approx(expected, rel=1e-12)


def test_gradients_of_info_nce_are_right() -> None:
    q, k = (torch.randn(4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda q, k: info_nce(unit_length(q), unit_length(k), 0.5), (q, k))


def test_similarity_keeps_single_precision_under_autocast() -> None:
    q, k = unit_length(torch.randn(5, 64)), unit_length(torch.randn(7, 64))
    exact = q @ k.T / 0.1
    with torch.autocast("cpu", torch.bfloat16):
        ours, rounded = scaled_similarity(q, k, 0.1), q @ k.T / 0.1
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, exact)
    assert (rounded.float() - exact).abs().max() > 1e-3


def test_unit_length_of_half_precision_is_single_precision() -> None:
    rows = unit_length(torch.randn(3, 64).bfloat16())
    assert rows.dtype == torch.float32
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(3))
    assert unit_length(torch.zeros(2, 4)).isfinite().all()


def test_two_views_are_contrasted_within_their_group() -> None:
    z1, z2 = torch.randn(2, 3, 4, 5, dtype=torch.float64)  # 3 groups of 4 samples
    alone = [two_view_nce(a, b, 0.5) for a, b in zip(z1, z2, strict=True)]
    torch.testing.assert_close(two_view_nce(z1, z2, 0.5), torch.stack(alone).mean())
    for a, b, loss in zip(z1, z2, alone, strict=True):
        rows = torch.cat([a, b])
        other = [4, 5, 6, 7, 0, 1, 2, 3]
        expected = looped(rows @ rows.T / 0.5, other, ~torch.eye(8, dtype=torch.bool))
        assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_a_single_pair_of_views_has_nothing_to_tell_apart() -> None:
    z1, z2 = (torch.randn(1, 5, requires_grad=True) for _ in range(2))
    loss = two_view_nce(z1, z2, 0.1)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(z1.grad, torch.zeros(1, 5))


def test_two_views_are_compared_in_single_precision_under_autocast() -> None:
    z1, z2 = torch.randn(2, 3, 6, 32)
    exact = two_view_nce(z1, z2, 1.0)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(two_view_nce(z1, z2, 1.0), exact)


def test_the_gradient_of_half_precision_views_is_that_of_their_single_precision() -> None:
    halves = [torch.randn(3, 6, 32).bfloat16().requires_grad_() for _ in range(2)]
    singles = [half.detach().float().requires_grad_() for half in halves]
    two_view_nce(*halves, 1.0).backward()
    two_view_nce(*singles, 1.0).backward()
    for half, single in zip(halves, singles, strict=True):
        assert torch.equal(half.grad, single.grad.bfloat16())


@pytest.mark.parametrize("ids", [[0, 0], [5, 5, 5], [1, 0, 1, 0, 2**40]])
def test_pairs_of_an_id_are_normalised_over_rows_above_and_columns_below(ids: list[int]) -> None:
    count = len(ids)
    logits = torch.randn(count, count, dtype=torch.float64)
    above, below = [], []
    for i in range(count):
        for j in range(count):
            if ids[i] == ids[j] and i < j:
                above.append((logits[i].logsumexp(0) - logits[i, j]).item())
            if ids[i] == ids[j] and i > j:
                below.append((logits[:, j].logsumexp(0) - logits[i, j]).item())
    expected = (sum(above) / len(above) + sum(below) / len(below)) / 2
    assert shared_id_nce(logits, torch.tensor(ids)).item() == pytest.approx(expected, rel=1e-12)


def test_without_a_shared_id_the_loss_is_a_zero_with_a_graph() -> None:
    logits = torch.randn(3, 3, requires_grad=True)
    loss = shared_id_nce(logits, torch.tensor([0, 2**24, 2**24 + 1]))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros(3, 3))


def test_gradients_of_pairs_are_right() -> None:
    z1, z2 = (torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda a, b: two_view_nce(a, b, 0.5), (z1, z2))
    groups = [torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    torch.autograd.gradcheck(lambda a, b: two_view_nce(a.transpose(0, 1), b.transpose(0, 1), 1.0), groups)
    logits = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda x: shared_id_nce(x, torch.tensor([1, 0, 1, 1])), logits)
