"""Contrastive losses that several methods share, in float32 or better also under autocast.

info_nce            InfoNCE (CPC, Eq. 4)
multi_positive_nce  InfoNCE with several positives per query (SupCon, Eq. 2)
nt_xent             NT-Xent of two views (SimCLR, Eq. 1)
two_view_nce        the same on raw dot products, also for several groups
shared_id_nce       the loss of CLOCS and COMET over pairs that share an id
time_cosine         similarity of windows from outputs per time step, each channel normalised along time (COMET)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def unit_length(x: Tensor) -> Tensor:
    """L2-normalise rows, in float32 or better: (N, K) -> (N, K)."""
    return F.normalize(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)


def scaled_similarity(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Compute the logits of a softmax, dot products over the temperature, in float32 or better also under autocast.

    (N, K), (C, K) -> (N, C), or the same for each of G groups: (G, N, K), (G, C, K) -> (G, N, C).
    """
    precision = torch.promote_types(q.dtype, torch.float32)
    with torch.autocast(q.device.type, enabled=False):
        q = q.to(precision)
        return (q if temperature == 1 else q / temperature) @ k.to(precision).mT  # (..., N, C)


def info_nce(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Compute the cross-entropy of q k^T / temperature, where row i's positive is column i. q, k: (B, K) -> ()."""
    logits = scaled_similarity(q, k, temperature)  # (B, B)
    return F.cross_entropy(logits, torch.arange(len(q), device=q.device))


def multi_positive_nce(
    logits: Tensor, positive: Tensor, valid: Tensor | None = None, per_pair: bool = False, scale: float = 1.0
) -> Tensor:
    """Compute -log softmax over the valid keys, mean over a query's positives, then over the queries with one: 0-d.

    logits: (N, C), already divided by the temperature; positive: (N, C) bool; valid: (C,) or (N, C) bool, all without.
    `per_pair`: one mean over all positive pairs. `scale` is a factor of the loss. Without a positive the result is a
    zero that keeps its graph (SupCon, Eq. 2, "out").
    """
    if valid is not None:
        logits = logits.masked_fill(~valid, torch.finfo(logits.dtype).min)  # (N, C)
        positive = positive & valid  # (N, C)
    of_query = -(logits.log_softmax(1) * positive).sum(1)  # (N,)
    count = positive.sum(1)  # (N,)
    if per_pair:
        return scale * of_query.sum() / count.sum().clamp(min=1)
    return scale * (of_query / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)


def two_view_nce(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """Compute NT-Xent on raw dot products: 0-d, mean over all anchors (SimCLR, Eq. 1).

    z1, z2: (N, K), two views of N samples, or (G, N, K) for G groups contrasted separately. Each of a group's 2N
    rows is an anchor: its other view is the positive, all other rows of the group are the candidates.
    """
    across = scaled_similarity(z1, z2, temperature)  # (..., N, N)
    # The lowest finite number, not -inf: with N = 1 a row has no other candidate and must not give inf - inf.
    itself = torch.eye(z1.shape[-2], dtype=torch.bool, device=z1.device)
    lowest = torch.finfo(across.dtype).min
    within1, within2 = (scaled_similarity(z, z, temperature).masked_fill(itself, lowest) for z in (z1, z2))
    total1 = torch.logaddexp(across.logsumexp(-1), within1.logsumexp(-1))  # (..., N) anchors in the first view
    total2 = torch.logaddexp(across.logsumexp(-2), within2.logsumexp(-1))  # (..., N) anchors in the second view
    return ((total1 + total2) / 2 - across.diagonal(dim1=-2, dim2=-1)).mean()


def nt_xent(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """Compute NT-Xent, mean over the 2B anchors: 0-d (SimCLR, Eq. 1). z1, z2: (B, K), normalised here."""
    return two_view_nce(unit_length(z1), unit_length(z2), temperature)


def shared_id_nce(logits: Tensor, ids: Tensor) -> Tensor:
    """Compute -log softmax of the pairs that share an id, without those of a sample with itself: 0-d (CLOCS; COMET).

    logits: (B, B), first view by second view, already divided by the temperature; ids: (B,). Pairs above the diagonal
    are normalised over their row, those below over their column; the two means are averaged. Without a pair the result
    is a zero that keeps its graph.
    """
    above = (ids[:, None] == ids).triu(1)  # (B, B)
    pairs = above.sum()  # ()
    by_row = -logits.log_softmax(1).masked_fill(~above, 0.0).sum()
    by_column = -logits.log_softmax(0).masked_fill(~above.T, 0.0).sum()
    return (by_row + by_column) / (2 * pairs).clamp(min=1)


def time_cosine(h1: Tensor, h2: Tensor) -> Tensor:
    """Compute cosines of the first view's windows with the second's: (B, S, K), (B, S, K) -> (B, B).

    Each channel is normalised along time, then the window as a whole.
    """
    precision = torch.promote_types(h1.dtype, torch.float32)
    z1, z2 = (F.normalize(h.to(precision), dim=1).flatten(1) for h in (h1, h2))  # (B, S * K)
    return scaled_similarity(unit_length(z1), unit_length(z2), 1.0)  # (B, B)
