"""Cosine similarity of windows from outputs per time step, each channel first normalised along time (COMET)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.parts.losses import scaled_similarity

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
