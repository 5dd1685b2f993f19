"""Loss terms whose gradients are computed with their values, so that memory holds the graph of one term at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


def with_gradients(term: Callable[[], Tensor], parameters: Iterable[Tensor]) -> Tensor:
    """The scalar `term()`, 0-d, with its gradients computed at once; its backward pass only scales them.

    Exact, without recomputation: the term's graph is freed before the next term begins. `parameters`: all that the
    term may train; unused ones get no gradient. Double backward is not supported.
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
            # Backward must keep the dtypes of forward; under autocast it would round what forward kept in float32.
            with torch.autocast(value.device.type, enabled=False):
                ctx.gradients = torch.autograd.grad(value, parameters, allow_unused=True)
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(None if own is None else outer[0] * own for own in ctx.gradients)


def plain_at_once(term: Callable[[], Tensor], *parameters: Tensor) -> Tensor:
    """The value of a term as a function of its parameters p; with g = dL/dvalue the gradient is dL/dp = g dterm/dp."""
    return term()
