"""InfoNCE where a query has many positives among the keys (SupCon, Eq. 2 in its "out" form), for long queues.

Value and gradient are computed together and in place, so that memory holds one (N, C) matrix of similarities.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BLOCK = 2**20
"""Similarities processed at a time: as float32 they fit a CPU's cache."""


def multi_positive_nce(q: Tensor, keys: Tensor, positive: Tensor, valid: Tensor, temperature: float) -> Tensor:
    """-log softmax over the valid keys, mean over a query's positives, then over the queries that have one: 0-d.

    q: (N, K); keys: (C, K); positive: (N, C) bool; valid: (C,) or (N, C) bool. Similarities are dot products over the
    temperature, in float32 or better. Invalid keys are in neither numerator nor denominator. Without any positive the
    result is a zero that keeps its graph. Double backward is not supported.
    """
    precision = torch.promote_types(q.dtype, torch.float32)
    with torch.autocast(q.device.type, enabled=False):
        value: Tensor = _ManyPositives.apply(q.to(precision) / temperature, keys.to(precision), positive, valid)  # type: ignore[no-untyped-call]
    return value


class _ManyPositives(torch.autograd.Function):
    """`plain_many_positives`, with one (N, C) matrix for value and gradient."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, keys: Tensor, positive: Tensor, valid: Tensor) -> Tensor:
        valid = valid.expand_as(positive)  # (N, C)
        positive = positive & valid  # (N, C)
        count = positive.sum(1, keepdim=True)  # (N, 1)
        weight = 1 / (count * (count > 0).sum()).clamp(min=1).to(q.dtype)  # (N, 1) of a positive pair
        logits = q @ keys.mT  # (N, C), overwritten by its gradient
        blocks = zip(*(x.chunk(1 + logits.numel() // BLOCK) for x in (logits, positive, valid, count)), strict=True)
        summed = torch.cat([minus_shares(*block) for block in blocks])  # (N, 1) over a query's positives
        by_q, by_keys = ctx.needs_input_grad[:2]
        if by_q or by_keys:
            logits.mul_(weight)
        ctx.inner = (logits @ keys if by_q else None, logits.mT @ q if by_keys else None)
        return (summed * weight).sum()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if inner is None else outer[0] * inner for inner in ctx.inner), None, None


def plain_many_positives(q: Tensor, keys: Tensor, positive: Tensor, valid: Tensor) -> Tensor:
    """`multi_positive_nce` by log softmax, for queries already divided by the temperature: 0-d.

    With s = q keys^T, p_ij the softmax of query i over the valid keys, n_i its valid positives and Q queries that have
    one, dL/ds_ij = D_ij = (n_i p_ij - [j is a positive of i]) / (n_i Q), dL/dq = D keys and dL/dkeys = D^T q.
    """
    positive = positive & valid  # (N, C)
    count = positive.sum(1)  # (N,)
    lowest = torch.finfo(q.dtype).min
    shares = (q @ keys.mT).masked_fill(~valid.expand_as(positive), lowest).log_softmax(1)  # (N, C)
    of_query = -(shares * positive).sum(1) / count.clamp(min=1)  # (N,)
    return of_query.sum() / (count > 0).sum().clamp(min=1)


def minus_shares(logits: Tensor, positive: Tensor, valid: Tensor, count: Tensor) -> Tensor:
    """-log softmax over the valid columns, summed over each row's positives: (n, 1).

    logits: (n, C), overwritten by its gradient; positive, valid: (n, C) bool; count: (n, 1) positives, all valid.
    """
    # The lowest finite number, not -inf: a row without a valid key must not give 0 * inf.
    logits.masked_fill_(~valid, torch.finfo(logits.dtype).min)
    total = logits.logsumexp(1, keepdim=True)  # (n, 1)
    summed = count * total - (logits * positive).sum(1, keepdim=True)  # (n, 1)
    logits.sub_(total).exp_().mul_(count).add_(positive, alpha=-1)
    return summed
