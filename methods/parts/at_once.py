"""A loss whose gradients are taken at once: of several terms with passes of their own, memory holds one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


def with_gradients(term: Callable[[], Tensor], parameters: Iterable[Tensor]) -> Tensor:
    """The value of `term()`, a scalar, whose backward pass hands on the gradients found right after its forward pass.

    Exact, and nothing is computed twice: what the term needs for its gradients is freed before the next term begins.
    `parameters` are all that learn in it; those that the term does not use get no gradient. Gradients of gradients are
    not there.
    """
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    if not (learning and torch.is_grad_enabled()):
        return term()
    value: Tensor = _AtOnce.apply(term, *learning)  # type: ignore[no-untyped-call]
    return value


class _AtOnce(torch.autograd.Function):
    """`plain_at_once`, differentiated in the forward pass."""

    @staticmethod
    def forward(ctx: Any, term: Callable[[], Tensor], *parameters: Tensor) -> Tensor:
        with torch.enable_grad():
            value = term()
            # A backward pass follows the types of its forward pass: under autocast it would round what was kept exact.
            with torch.autocast(value.device.type, enabled=False):
                ctx.gradients = torch.autograd.grad(value, parameters, allow_unused=True)
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(None if own is None else outer[0] * own for own in ctx.gradients)


def plain_at_once(term: Callable[[], Tensor], *parameters: Tensor) -> Tensor:
    """The value of a term as a function of its parameters p; with g = dL/dvalue the gradient is dL/dp = g dterm/dp."""
    return term()
