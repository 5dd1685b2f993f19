"""Shared losses against double loops, their edge cases and their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.parts.losses import (
    info_nce,
    multi_positive_nce,
    scaled_similarity,
    shared_id_nce,
    two_view_nce,
    unit_length,
)


def looped(logits: Tensor, positive: Tensor, valid: Tensor, per_pair: bool) -> float:
    """multi_positive_nce by the book: one anchor and one positive at a time."""
    anchors = []
    for i in range(len(logits)):
        columns = [j for j in range(logits.shape[1]) if valid[i, j]]
        total = math.fsum(math.exp(logits[i, j]) for j in columns)
        anchors.append([-math.log(math.exp(logits[i, j]) / total) for j in columns if positive[i, j]])
    if per_pair:
        pairs = [value for anchor in anchors for value in anchor]
        return sum(pairs) / len(pairs) if pairs else 0.0
    means = [sum(anchor) / len(anchor) for anchor in anchors if anchor]
    return sum(means) / len(means) if means else 0.0


@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_equals_the_double_loop(per_pair: bool, share: float) -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(7, 19, generator=generator, dtype=torch.float64) * 5
    positive = torch.rand(7, 19, generator=generator) < share
    for valid in (torch.rand(19, generator=generator) < 0.7, torch.rand(7, 19, generator=generator) < 0.5):
        expected = looped(logits, positive, valid.expand(7, 19), per_pair)
        assert multi_positive_nce(logits, positive, valid, per_pair).item() == pytest.approx(expected, rel=1e-12)
    everything = torch.ones(7, 19, dtype=torch.bool)
    expected = looped(logits, positive, everything, per_pair)
    assert multi_positive_nce(logits, positive, per_pair=per_pair).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("valid", [torch.ones(5, dtype=torch.bool), torch.zeros(5, dtype=torch.bool)])
@pytest.mark.parametrize("per_pair", [False, True])
def test_without_positives_the_loss_is_a_zero_with_a_graph(valid: Tensor, per_pair: bool) -> None:
    logits = torch.randn(4, 5, requires_grad=True)
    loss = multi_positive_nce(logits, torch.zeros(4, 5, dtype=torch.bool), valid, per_pair)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros(4, 5))


def test_columns_that_are_not_valid_have_no_influence() -> None:
    logits = torch.randn(4, 6, requires_grad=True)
    positive = torch.rand(4, 6) < 0.5
    positive[:, 0] = True
    valid = torch.tensor([True, True, True, True, False, False])
    loss = multi_positive_nce(logits, positive, valid)
    torch.testing.assert_close(loss, multi_positive_nce(logits[:, :4], positive[:, :4]))
    loss.backward()
    assert torch.equal(logits.grad[:, 4:], torch.zeros(4, 2))


@pytest.mark.parametrize("per_pair", [False, True])
def test_gradients_are_right(per_pair: bool) -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    positive = torch.rand(4, 6) < 0.4
    valid = torch.tensor([True, False, True, True, True, False])
    torch.autograd.gradcheck(lambda x: multi_positive_nce(x, positive, valid, per_pair), logits)
    q, k = (torch.randn(4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda q, k: info_nce(unit_length(q), unit_length(k), 0.5), (q, k))


def test_large_logits_stay_finite() -> None:
    logits = torch.tensor([[1e4, -1e4], [-1e4, 1e4]], requires_grad=True)
    loss = multi_positive_nce(logits, torch.tensor([[True, True], [True, False]]))
    loss.backward()
    assert loss.item() == pytest.approx(1.5e4)
    assert logits.grad.isfinite().all()


def test_info_nce_is_the_cross_entropy_of_its_own_column() -> None:
    q, k = (unit_length(torch.randn(6, 4, dtype=torch.float64)) for _ in range(2))
    expected = looped(q @ k.T / 0.1, torch.eye(6, dtype=torch.bool), torch.ones(6, 6, dtype=torch.bool), False)
    assert info_nce(q, k, 0.1).item() == pytest.approx(expected, rel=1e-12)


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
        positive = torch.eye(8, dtype=torch.bool).roll(4, dims=1)
        expected = looped(rows @ rows.T / 0.5, positive, ~torch.eye(8, dtype=torch.bool), False)
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
