"""Shared losses against double loops, their edge cases, and what they hold; test_plain_forms has the gradients."""

from __future__ import annotations

import math
import weakref

import pytest
import torch
from torch import Tensor, nn

from methods.parts import losses
from methods.parts.losses import (
    info_nce,
    multi_positive_nce,
    plain_many_positives,
    scaled_similarity,
    shared_id_nce,
    time_cosine,
    two_view_nce,
    unit_length,
    with_gradients,
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


def test_a_single_pair_of_views_has_nothing_to_tell_apart() -> None:
    z1, z2 = (torch.randn(1, 5, requires_grad=True) for _ in range(2))
    loss = two_view_nce(z1, z2, 0.1)
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(z1.grad, torch.zeros(1, 5))


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
    groups = [torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    torch.autograd.gradcheck(lambda a, b: two_view_nce(a.transpose(0, 1), b.transpose(0, 1), 1.0), groups)
    logits = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda x: shared_id_nce(x, torch.tensor([1, 0, 1, 1])), logits)


TEMPERATURE = 0.2


def multi_positive_looped(q: Tensor, keys: Tensor, positive: Tensor, valid: Tensor) -> float:
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

    of_block = losses.minus_shares
    monkeypatch.setattr(losses, "minus_shares", counted)
    monkeypatch.setattr(losses, "BLOCK", 20)
    all_of_them = torch.ones(20, 2, dtype=torch.bool)
    multi_positive_nce(torch.randn(20, 3), torch.randn(2, 3), all_of_them, all_of_them[0], TEMPERATURE)
    assert sizes == [14, 14, 12]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("block", [1, 40, 2**20])
def test_equals_the_double_loop(share: float, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "BLOCK", block)  # one query at a time, two, and all at once
    torch.manual_seed(3)
    q, keys = torch.randn(7, 5, dtype=torch.float64), torch.randn(19, 5, dtype=torch.float64)
    positive = torch.rand(7, 19) < share
    for valid in (torch.rand(19) < 0.7, torch.rand(7, 19) < 0.5, torch.ones(19, dtype=torch.bool)):
        expected = multi_positive_looped(q, keys, positive, valid.expand(7, 19))
        assert multi_positive_nce(q, keys, positive, valid, TEMPERATURE).item() == pytest.approx(expected, rel=1e-12)
        assert plain_many_positives(q / TEMPERATURE, keys, positive, valid).item() == pytest.approx(expected, rel=1e-12)


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


def test_gradients_are_right_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "BLOCK", 1)
    torch.manual_seed(0)
    q, keys = (torch.randn(count, 3, dtype=torch.float64, requires_grad=True) for count in (4, 6))
    positive = torch.rand(4, 6) < 0.4
    valid = torch.tensor([True, False, True, True, True, False])
    for inputs in ((q, keys), (q, keys.detach()), (q.detach(), keys)):
        torch.autograd.gradcheck(lambda q, k: 3 * multi_positive_nce(q, k, positive, valid, TEMPERATURE), inputs)


def test_large_similarities_stay_finite() -> None:
    q = torch.tensor([[1e4], [-1e4]], requires_grad=True)
    valid = torch.ones(2, dtype=torch.bool)
    loss = multi_positive_nce(q, torch.tensor([[1.0], [-1.0]]), torch.tensor([[True, True], [True, False]]), valid, 1.0)
    loss.backward()
    assert loss.item() == pytest.approx(1.5e4)
    assert q.grad.isfinite().all()


def test_what_the_keys_were_decides_even_if_they_are_overwritten_before_the_backward_pass() -> None:
    q, keys = torch.randn(4, 3, requires_grad=True), torch.randn(6, 3)
    positive, valid = torch.rand(4, 6) < 0.5, torch.ones(6, dtype=torch.bool)
    positive[:, 0] = True
    (expected,) = torch.autograd.grad(multi_positive_nce(q, keys, positive, valid, TEMPERATURE), q)
    loss = multi_positive_nce(q, keys, positive, valid, TEMPERATURE)
    keys.zero_()
    assert torch.equal(torch.autograd.grad(loss, q)[0], expected)


def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def term(model: nn.Module, x: Tensor) -> Tensor:
    loss: Tensor = model(x).square().mean()
    return loss


def test_value_and_gradients_are_those_of_the_sum() -> None:
    x, y = torch.randn(2, 4, 3)
    usual, at_once = layer(), layer()
    expected = 0.3 * (term(usual, x) + 2 * term(usual, y))
    expected.backward()
    found = with_gradients(lambda: term(at_once, x), at_once.parameters())
    found = 0.3 * (found + 2 * with_gradients(lambda: term(at_once, y), at_once.parameters()))
    found.backward()
    torch.testing.assert_close(found, expected)
    for a, b in zip(at_once.parameters(), usual.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_under_autocast_gradients_are_as_exact_as_those_of_a_usual_backward_pass() -> None:
    torch.manual_seed(0)
    weight, keys = torch.randn(64, 32, requires_grad=True), torch.randn(8, 32)

    def similarity() -> Tensor:
        return scaled_similarity(weight, keys, 0.1).logsumexp(1).mean()

    (expected,) = torch.autograd.grad(similarity(), weight)
    with torch.autocast("cpu", torch.bfloat16):
        value = with_gradients(similarity, [weight])
    assert torch.equal(torch.autograd.grad(value, weight)[0], expected)


def test_what_a_term_saves_is_freed_before_the_next_begins() -> None:
    model = layer()
    saved: list[weakref.ref[Tensor]] = []

    def watched() -> Tensor:
        hidden = model(torch.ones(1, 3))
        saved.append(weakref.ref(hidden))
        loss: Tensor = hidden.square().mean()
        return loss

    total = with_gradients(watched, model.parameters())
    assert saved[0]() is None
    total.backward()


def test_a_silent_channel_is_left_out_and_silence_is_finite() -> None:
    h = torch.randn(2, 6, 4, dtype=torch.float64)
    h[:, :, 0] = 0.0
    torch.testing.assert_close(time_cosine(h, h), time_cosine(h[:, :, 1:], h[:, :, 1:]))
    silent = torch.zeros(2, 6, 4, requires_grad=True)
    similarity = time_cosine(silent, silent)
    similarity.sum().backward()
    assert similarity.isfinite().all()
    assert silent.grad is not None
    assert silent.grad.isfinite().all()
