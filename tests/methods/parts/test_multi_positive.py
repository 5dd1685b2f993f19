"""InfoNCE with many positives against a double loop, its edge cases, its gradients, and what it holds."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from methods.parts import multi_positive
from methods.parts.losses import unit_length
from methods.parts.multi_positive import multi_positive_nce, plain_many_positives

TEMPERATURE = 0.2


def looped(q: Tensor, keys: Tensor, positive: Tensor, valid: Tensor) -> float:
    """The loss by the book: one query and one positive at a time. positive, valid: (N, C)."""
    logits, means = (q @ keys.T / TEMPERATURE).tolist(), []
    for i, row in enumerate(logits):
        total = math.fsum(math.exp(row[j]) for j in range(len(row)) if valid[i, j])
        pairs = [-math.log(math.exp(row[j]) / total) for j in range(len(row)) if valid[i, j] and positive[i, j]]
        means += [sum(pairs) / len(pairs)] if pairs else []
    return sum(means) / len(means) if means else 0.0


def test_so_many_similarities_are_processed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(logits: Tensor, *rest: Tensor) -> Tensor:
        sizes.append(logits.numel())
        return of_block(logits, *rest)

    of_block = multi_positive.minus_shares
    monkeypatch.setattr(multi_positive, "minus_shares", counted)
    monkeypatch.setattr(multi_positive, "BLOCK", 20)
    all_of_them = torch.ones(20, 2, dtype=torch.bool)
    multi_positive_nce(torch.randn(20, 3), torch.randn(2, 3), all_of_them, all_of_them[0], TEMPERATURE)
    assert sizes == [14, 14, 12]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("block", [1, 40, 2**20])
def test_equals_the_double_loop(share: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_positive, "BLOCK", block)  # one query at a time, two, and all at once
    torch.manual_seed(3)
    q, keys = torch.randn(7, 5, dtype=torch.float64), torch.randn(19, 5, dtype=torch.float64)
    positive = torch.rand(7, 19) < share
    for valid in (torch.rand(19) < 0.7, torch.rand(7, 19) < 0.5, torch.ones(19, dtype=torch.bool)):
        expected = looped(q, keys, positive, valid.expand(7, 19))
        assert multi_positive_nce(q, keys, positive, valid, TEMPERATURE).item() == pytest.approx(expected, rel=1e-12)
        assert plain_many_positives(q / TEMPERATURE, keys, positive, valid).item() == pytest.approx(expected, rel=1e-12)


def test_one_query_is_its_own_mean() -> None:
    q, keys = torch.tensor([[1.0, 0.0]]), torch.eye(2)
    positive, valid = torch.tensor([[True, False]]), torch.ones(2, dtype=torch.bool)
    expected = math.log(1 + math.exp(-1))
    assert plain_many_positives(q, keys, positive, valid).item() == pytest.approx(expected)
    assert multi_positive_nce(q, keys, positive, valid, 1.0).item() == pytest.approx(expected)


@pytest.mark.parametrize("valid", [torch.ones(5, dtype=torch.bool), torch.zeros(5, dtype=torch.bool)])
def test_without_positives_the_loss_is_a_zero_with_a_graph(valid: Tensor) -> None:
    q = torch.randn(4, 3, requires_grad=True)
    loss = multi_positive_nce(q, torch.randn(5, 3), torch.zeros(4, 5, dtype=torch.bool), valid, TEMPERATURE)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(q.grad, torch.zeros(4, 3))


def test_keys_that_are_not_valid_have_no_influence() -> None:
    torch.manual_seed(0)
    q, keys = torch.randn(4, 3, requires_grad=True), torch.randn(6, 3, requires_grad=True)
    positive = torch.rand(4, 6) < 0.5
    positive[:, 0] = True
    valid = torch.tensor([True, True, True, True, False, False])
    loss = multi_positive_nce(q, keys, positive, valid, TEMPERATURE)
    torch.testing.assert_close(loss, multi_positive_nce(q, keys[:4], positive[:, :4], valid[:4], TEMPERATURE))
    loss.backward()
    assert torch.equal(keys.grad[4:], torch.zeros(2, 3))


@pytest.mark.parametrize("block", [1, 2**20])
def test_gradients_are_right(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_positive, "BLOCK", block)
    torch.manual_seed(0)
    q, keys = (torch.randn(count, 3, dtype=torch.float64, requires_grad=True) for count in (4, 6))
    positive = torch.rand(4, 6) < 0.4
    valid = torch.tensor([True, False, True, True, True, False])
    for inputs in ((q, keys), (q, keys.detach()), (q.detach(), keys)):
        torch.autograd.gradcheck(lambda q, k: 3 * multi_positive_nce(q, k, positive, valid, TEMPERATURE), inputs)


def test_the_value_is_the_same_without_gradients() -> None:
    q, keys = torch.randn(4, 3, requires_grad=True), torch.randn(6, 3)
    positive, valid = torch.rand(4, 6) < 0.5, torch.ones(6, dtype=torch.bool)
    with torch.no_grad():
        value = multi_positive_nce(q, keys, positive, valid, TEMPERATURE)
    assert not value.requires_grad
    assert torch.equal(value, multi_positive_nce(q, keys, positive, valid, TEMPERATURE))


def test_large_similarities_stay_finite() -> None:
    q = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    valid = torch.ones(2, dtype=torch.bool)
    loss = multi_positive_nce(q, torch.tensor([[1.0], [-1.0]]), torch.tensor([[True, True], [True, False]]), valid, 1.0)
    loss.backward()
    assert loss.item() == pytest.approx(1.5e4)
    assert q.grad.isfinite().all()


def test_similarity_keeps_single_precision_under_autocast() -> None:
    q, keys = unit_length(torch.randn(5, 64)), unit_length(torch.randn(7, 64))
    positive, valid = torch.rand(5, 7) < 0.5, torch.ones(7, dtype=torch.bool)
    exact = multi_positive_nce(q, keys, positive, valid, TEMPERATURE)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(multi_positive_nce(q, keys, positive, valid, TEMPERATURE), exact)


def test_what_the_keys_were_decides_even_if_they_are_overwritten_before_the_backward_pass() -> None:
    q, keys = torch.randn(4, 3, requires_grad=True), torch.randn(6, 3)
    positive, valid = torch.rand(4, 6) < 0.5, torch.ones(6, dtype=torch.bool)
    positive[:, 0] = True
    (expected,) = torch.autograd.grad(multi_positive_nce(q, keys, positive, valid, TEMPERATURE), q)
    loss = multi_positive_nce(q, keys, positive, valid, TEMPERATURE)
    keys.zero_()
    assert torch.equal(torch.autograd.grad(loss, q)[0], expected)
