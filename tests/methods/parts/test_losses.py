"""Shared losses against double loops, and their edge cases."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.parts.losses import (
    scaled_similarity,
    shared_id_nce,
    time_cosine,
    two_view_nce,
    unit_length,
)


def looped(logits: Tensor, positives: list[int], candidates: Tensor) -> float:
    """InfoNCE, one anchor and one candidate at a time. positives: of each anchor, its column; candidates: (N, C)."""
    values = []
    for i, positive in enumerate(positives):
        total = math.fsum(math.exp(logits[i, j]) for j in range(logits.shape[1]) if candidates[i, j])
        values.append(-math.log(math.exp(logits[i, positive]) / total))
    return sum(values) / len(values)


def test_similarity_keeps_single_precision_under_autocast() -> None:
    q, k = unit_length(torch.randn(5, 64)), unit_length(torch.randn(7, 64))
    exact = q @ k.T / 0.1
    with torch.autocast("cpu", torch.bfloat16):
        ours, rounded = scaled_similarity(q, k, 0.1), q @ k.T / 0.1
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, exact)
    assert (rounded.float() - exact).abs().max() > 1e-3
    rows = unit_length(torch.cat([torch.randn(3, 64), torch.zeros(1, 64)]).bfloat16())
    assert rows.dtype == torch.float32
    torch.testing.assert_close(rows.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 0.0]))


def test_two_views_are_contrasted_within_their_group() -> None:
    z1, z2 = torch.randn(2, 3, 4, 5, dtype=torch.float64)  # 3 groups of 4 samples
    alone = [two_view_nce(a, b, 0.5) for a, b in zip(z1, z2, strict=True)]
    torch.testing.assert_close(two_view_nce(z1, z2, 0.5), torch.stack(alone).mean())
    for a, b, loss in zip(z1, z2, alone, strict=True):
        rows = torch.cat([a, b])
        other = [4, 5, 6, 7, 0, 1, 2, 3]
        expected = looped(rows @ rows.T / 0.5, other, ~torch.eye(8, dtype=torch.bool))
        assert loss.item() == pytest.approx(expected, rel=1e-12)


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


def test_channels_are_normalised_along_time_and_a_silent_one_counts_for_nothing() -> None:
    h1, h2 = torch.randn(2, 3, 7, 5)
    h1[:, :, 0] = 0
    similarity = time_cosine(h1, h2)
    unit = [(h / h.norm(dim=1, keepdim=True).clamp(min=1e-12)).flatten(1) for h in (h1, h2)]
    expected = torch.stack([torch.cosine_similarity(one, unit[1]) for one in unit[0]])
    torch.testing.assert_close(similarity, expected)
    h = torch.zeros(2, 4, 3, requires_grad=True)
    time_cosine(h, h).sum().backward()
    assert h.grad is not None
    assert h.grad.isfinite().all()
