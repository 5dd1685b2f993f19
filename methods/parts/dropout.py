"""Dropout (Srivastava et al. 2014) by cheap draws: kept elements are divided by the share kept; the mean is exact."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.parts.draws import LEVELS, survivors


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """`x` with a share of its elements set to 0 and the others scaled up; `x` itself outside training."""
    if not training or share == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    drawn = min(round(share * LEVELS), LEVELS - 1) / LEVELS
    dropped: Tensor = _KeptAndScaled.apply(x, survivors(x.shape, drawn, x.device), 1 / (1 - drawn))  # type: ignore[no-untyped-call]
    return dropped


class _KeptAndScaled(torch.autograd.Function):
    """`plain_kept_and_scaled`, which holds one byte per element for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return (x * kept).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return (outer[0] * kept).mul_(ctx.scale), None, None


def plain_kept_and_scaled(x: Tensor, kept: Tensor, scale: float) -> Tensor:
    """y = scale * kept * x, elementwise; with g = dL/dy the gradient is dL/dx = scale * kept * g. kept: bool."""
    return x * kept * scale
