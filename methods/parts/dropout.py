"""Dropout (Srivastava et al. 2014) that is cheap on CPUs, where drawing a number per element took most of its time.

A 64-bit draw serves four elements with 16 bits each, so that the share dropped is a multiple of 1 / 65,536; what is
kept is scaled by that very share, and its mean is exact.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 2**16


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """`x` with a share of its elements set to 0 and the others scaled up; `x` itself outside training."""
    if not training or share == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    dropped: Tensor = _SixteenBits.apply(x, min(round(share * LEVELS), LEVELS - 1))  # type: ignore[no-untyped-call]
    return dropped


class _SixteenBits(torch.autograd.Function):
    """Drops an element where its 16 bits are among the lowest `levels` of 65,536."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, levels: int) -> Tensor:
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= levels - LEVELS // 2
        ctx.save_for_backward(kept)
        ctx.scale = LEVELS / (LEVELS - levels)
        return (x * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (outer[0] * kept).mul_(ctx.scale), None
