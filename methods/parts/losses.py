"""Contrastive losses that several methods share.

InfoNCE (CPC, Eq. 4), NT-Xent (SimCLR, Eq. 1), and the loss of CLOCS and COMET over pairs that share an id.
"""

from __future__ import annotations

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
