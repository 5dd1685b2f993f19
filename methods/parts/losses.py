"""Contrastive losses that several methods share: InfoNCE (CPC, Eq. 4), and with many positives (SupCon, Eq. 2)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def unit_length(x: Tensor) -> Tensor:
    """L2-normalise rows, in float32 or better: (N, K) -> (N, K)."""
    return F.normalize(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)  # (N, K)


def scaled_similarity(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Dot products over the temperature, in float32 or better also under autocast: (N, K), (C, K) -> (N, C)."""
    precision = torch.promote_types(q.dtype, torch.float32)
    with torch.autocast(q.device.type, enabled=False):
        return (q.to(precision) / temperature) @ k.to(precision).T  # (N, C)


def info_nce(q: Tensor, k: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of the rows of q k^T / temperature, where row i's positive is column i. q, k: (B, K) -> ()."""
    logits = scaled_similarity(q, k, temperature)  # (B, B)
    return F.cross_entropy(logits, torch.arange(len(q), device=q.device))


def multi_positive_nce(logits: Tensor, positive: Tensor, valid: Tensor | None = None, per_pair: bool = False) -> Tensor:
    """-log softmax over the valid columns, mean over an anchor's positives, then over the anchors that have one.

    logits: (N, C), already divided by the temperature; positive: (N, C) bool; valid: (C,) or (N, C) bool, by default
    all. Columns that are not valid stand in neither numerator nor denominator. With `per_pair` all pairs of anchor and
    positive weigh the same. Without a positive anywhere the result is a zero that keeps its graph.
    """
    if valid is not None:
        # The lowest finite number, not -inf: a row without a valid column must not give 0 * inf.
        logits = logits.masked_fill(~valid, torch.finfo(logits.dtype).min)  # (N, C)
        positive = positive & valid  # (N, C)
    count = positive.sum(1)  # (N,)
    positive_logits = logits.masked_fill(~positive, 0.0).sum(1)  # (N,)
    summed = count * logits.logsumexp(1) - positive_logits  # (N,) over an anchor's positives
    if per_pair:
        return summed.sum() / count.sum().clamp(min=1)
    return (summed / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)
