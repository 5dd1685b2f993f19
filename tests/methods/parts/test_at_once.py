from __future__ import annotations

import weakref

import torch
from torch import Tensor, nn

from methods.parts.at_once import with_gradients
from methods.parts.losses import scaled_similarity


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


def test_what_a_term_does_not_use_or_that_does_not_learn_gets_no_gradient() -> None:
    used, unused, fixed = layer(), layer(), layer().requires_grad_(False)
    parameters = [*used.parameters(), *unused.parameters(), *fixed.parameters()]
    with_gradients(lambda: term(used, torch.ones(1, 3)) + term(fixed, torch.ones(1, 3)), parameters).backward()
    assert used.weight.grad is not None
    assert unused.weight.grad is None
    assert fixed.weight.grad is None


def test_under_autocast_gradients_are_as_exact_as_those_of_a_usual_backward_pass() -> None:
    torch.manual_seed(0)
    weight, keys = torch.randn(64, 32, requires_grad=True), torch.randn(8, 32)

    def similarity() -> Tensor:
        return scaled_similarity(weight, keys, 0.1).logsumexp(1).mean()

    (expected,) = torch.autograd.grad(similarity(), weight)
    with torch.autocast("cpu", torch.bfloat16):
        value = with_gradients(similarity, [weight])
    assert torch.equal(torch.autograd.grad(value, weight)[0], expected)


def test_without_gradients_it_is_the_value() -> None:
    model = layer()
    with torch.no_grad():
        value = with_gradients(lambda: term(model, torch.ones(1, 3)), model.parameters())
    assert not value.requires_grad
    torch.testing.assert_close(value, term(model, torch.ones(1, 3)))


def test_where_nothing_can_learn_no_graph_is_made() -> None:
    fixed, learning = layer().requires_grad_(False), layer()
    assert not with_gradients(lambda: term(fixed, torch.ones(1, 3)), fixed.parameters()).requires_grad
    graphs: list[bool] = []

    def watched() -> Tensor:
        loss = term(learning, torch.ones(1, 3))
        graphs.append(loss.requires_grad)
        return loss

    with torch.no_grad():
        with_gradients(watched, learning.parameters())
    assert graphs == [False]


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
