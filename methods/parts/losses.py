"""Contrastive losses that several methods share.

    info_nce             InfoNCE (CPC, Eq. 4)
    two_view_nce         NT-Xent of two views (SimCLR, Eq. 1)
    shared_id_nce        the loss of CLOCS and COMET over pairs that share an id
    multi_positive_nce   InfoNCE with many positives among the keys (SupCon, Eq. 2 in its "out" form), for long queues
    time_cosine          similarity of windows from outputs per time step, each channel normalised along time (COMET)
    with_gradients       a loss term with its gradients, so that memory holds the graph of one term at a time

A function with a gradient of its own has its plain form beside it; both give the same value and gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def unit_length(x: Tensor) -> Tensor:
    """L2-normalise rows, in float32 or better: (N, K) -> (N, K)."""
    return F.normalize(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)


def scaled_similarity(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Dot products over the temperature, in float32 or better also under autocast.

    (N, K), (C, K) -> (N, C), or the same for each of G groups: (G, N, K), (G, C, K) -> (G, N, C).
    """
    precision = torch.promote_types(q.dtype, torch.float32)
    with torch.autocast(q.device.type, enabled=False):
        q = q.to(precision)
        return (q if temperature == 1 else q / temperature) @ k.to(precision).mT  # (..., N, C)


def info_nce(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of the rows of q k^T / temperature, where row i's positive is column i. q, k: (B, K) -> ()."""
    logits = scaled_similarity(q, k, temperature)  # (B, B)
    return F.cross_entropy(logits, torch.arange(len(q), device=q.device))


def two_view_nce(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """NT-Xent on raw dot products, in float32 or better: 0-d, mean over all anchors (SimCLR, Eq. 1).

    z1, z2: (N, K), two views of N samples, or (G, N, K) for G groups contrasted separately. Each of a group's 2N
    rows is an anchor: its other view is the positive, all other rows of the group are the candidates.
    """
    precision = torch.promote_types(z1.dtype, torch.float32)
    with torch.autocast(z1.device.type, enabled=False):
        value: Tensor = _TwoViews.apply(z1.to(precision), z2.to(precision), temperature)  # type: ignore[no-untyped-call]
    return value


class _TwoViews(torch.autograd.Function):
    """`plain_two_views` with an explicit gradient; similarities within a view are symmetric and need one product."""

    @staticmethod
    def forward(ctx: Any, z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
        # The lowest finite number, not -inf: with N = 1 a row has no other candidate and must not give inf - inf.
        lowest = torch.finfo(z1.dtype).min
        across = scaled_similarity(z1, z2, temperature)  # (..., N, N)
        within1, within2 = (scaled_similarity(z, z, temperature) for z in (z1, z2))  # (..., N, N)
        for within in (within1, within2):
            within.diagonal(dim1=-2, dim2=-1).fill_(lowest)
        total1 = torch.logaddexp(across.logsumexp(-1), within1.logsumexp(-1))  # (..., N) anchors in the first view
        total2 = torch.logaddexp(across.logsumexp(-2), within2.logsumexp(-1))  # (..., N) anchors in the second view
        own = across.diagonal(dim1=-2, dim2=-1)  # (..., N)
        ctx.save_for_backward(z1, z2, across, within1, within2, total1, total2)
        ctx.temperature = temperature
        return ((total1 + total2) / 2 - own).mean()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, Tensor, None]:
        z1, z2, across, within1, within2, total1, total2 = ctx.saved_tensors
        pairs = (across - total1[..., :, None]).exp_()  # (..., N, N)
        pairs += (across - total2[..., None, :]).exp_()  # (..., N, N)
        pairs.diagonal(dim1=-2, dim2=-1).sub_(2)
        scale = outer[0] / (2 * total1.numel() * ctx.temperature)  # ()
        inner1 = pairs @ z2 + symmetric(within1, total1) @ z1  # (..., N, K)
        inner2 = pairs.mT @ z1 + symmetric(within2, total2) @ z2  # (..., N, K)
        return inner1.mul_(scale), inner2.mul_(scale), None


def plain_two_views(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """NT-Xent as the cross-entropy of all rows against all others: (..., N, K), (..., N, K) -> ().

    With s = z z^T / temperature of the 2N rows z = [z1; z2] of a group, p_ij the softmax of anchor i over its
    candidates, and A anchors in all groups, dL/ds_ij = D_ij = (p_ij - [j is the other view of i]) / A, and
    dL/dz_i = sum_j (D_ij + D_ji) z_j / temperature.
    """
    rows, count = torch.cat([z1, z2], -2), z1.shape[-2]  # (..., 2N, K)
    itself = torch.eye(2 * count, dtype=torch.bool, device=rows.device)  # (2N, 2N)
    logits = scaled_similarity(rows, rows, temperature).masked_fill(itself, -torch.inf)  # (..., 2N, 2N)
    shares = logits.log_softmax(-1)  # (..., 2N, 2N)
    own = [shares.diagonal(offset, dim1=-2, dim2=-1) for offset in (count, -count)]  # each (..., N)
    return -torch.stack(own).mean()


def symmetric(within: Tensor, total: Tensor) -> Tensor:
    """Gradient with respect to the similarities of a view with itself: (..., N, N), (..., N) -> (..., N, N)."""
    shares = (within - total[..., None]).exp_()  # (..., N, N)
    return shares + shares.mT  # (..., N, N)


def shared_id_nce(logits: Tensor, ids: Tensor) -> Tensor:
    """-log softmax of the pairs that share an id, without those of a sample with itself: 0-d (CLOCS; COMET).

    logits: (B, B), first view by second view, already divided by the temperature; ids: (B,). Pairs above the diagonal
    are normalised over their row, those below over their column; the two means are averaged. Without a pair the result
    is a zero that keeps its graph.
    """
    above = (ids[:, None] == ids).triu(1)  # (B, B)
    pairs = above.sum()  # ()
    by_row = -logits.log_softmax(1).masked_fill(~above, 0.0).sum()
    by_column = -logits.log_softmax(0).masked_fill(~above.T, 0.0).sum()
    return (by_row + by_column) / (2 * pairs).clamp(min=1)


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


SHORTEST = 1e-12
"""Smallest divisor in the normalisations."""


def time_cosine(h1: Tensor, h2: Tensor) -> Tensor:
    """Cosines of the first view's windows with the second's, in float32 or better: (B, S, K), (B, S, K) -> (B, B)."""
    z1, z2 = (unit_in_time(h).flatten(1) for h in (h1, h2))  # (B, S * K)
    # Exact: K channels of unit length have the constant length sqrt(K), so no gradient passes through the lengths.
    length1, length2 = (torch.linalg.vector_norm(z.detach(), dim=1) for z in (z1, z2))  # (B,)
    lengths = length1[:, None] * length2  # (B, B)
    cosine: Tensor = scaled_similarity(z1, z2, 1.0) / lengths.clamp(min=SHORTEST)  # (B, B)
    return cosine


def plain_time_cosine(h1: Tensor, h2: Tensor) -> Tensor:
    """`time_cosine` as two normalisations: each channel along time, then the window as a whole.

    In the gradient of the second, (g - u <u, g>) / |z| with u = z / |z|, the part along u would lengthen each channel.
    The gradient of the first normalisation removes this part, so `time_cosine` leaves it out.
    """
    z1, z2 = (F.normalize(plain_unit_in_time(h).flatten(1), dim=1) for h in (h1, h2))  # (B, S * K)
    return z1 @ z2.mT  # (B, B)


def unit_in_time(h: Tensor) -> Tensor:
    """L2-normalise each channel along time, in float32 or better: (B, S, K) -> (B, S, K)."""
    unit: Tensor = _UnitInTime.apply(h.to(torch.promote_types(h.dtype, torch.float32)))  # type: ignore[no-untyped-call]
    return unit


class _UnitInTime(torch.autograd.Function):
    """`plain_unit_in_time` with an explicit gradient: autograd's passes over (B, S, K) twice as often."""

    @staticmethod
    def forward(ctx: Any, h: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(h, dim=1, keepdim=True).clamp(min=SHORTEST)  # (B, 1, K)
        unit: Tensor = h / length  # (B, S, K)
        ctx.save_for_backward(unit, length)
        return unit

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Tensor:
        unit, length = ctx.saved_tensors
        along = (outer[0] * unit).sum(1, keepdim=True)  # (B, 1, K)
        inner: Tensor = torch.addcmul(outer[0], unit, along, value=-1).div_(length)  # (B, S, K)
        return inner


def plain_unit_in_time(h: Tensor) -> Tensor:
    """u = h / |h| of each channel along time, at least `SHORTEST` as divisor: (B, S, K) -> (B, S, K).

    With g = dL/du the gradient is dL/dh = (g - u <u, g>) / |h|; for a silent channel, h = 0, it is g / SHORTEST.
    """
    return F.normalize(h, dim=1, eps=SHORTEST)
