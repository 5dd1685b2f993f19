"""Masks of the embedded input, (B, S, D) -> (B, S, D) (PMQ, section "Data Augmentations").

A ratio is the share that is hidden; 0 is off. Masks are drawn on the data's device, from torch's default generator.
The paper's order is frequency first, then time.

Masks and dropout (Srivastava et al. 2014) share their draws, since on CPUs one draw per element would dominate the
cost: there a 64-bit draw serves four elements with 16 bits each, so that the share lost is a multiple of 1 / 65,536.
Dropout divides the elements that stay by their exact share, so that the mean stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 2**16


def survivors(shape: Sequence[int], lost: float, device: torch.device) -> Tensor:
    """True with probability 1 - `lost`, elements independent, from torch's default generator: `shape`, bool."""
    if device.type != "cpu":
        return torch.rand(*shape, device=device) >= lost
    if lost == 1:
        return torch.zeros(*shape, dtype=torch.bool)
    count, levels = prod(shape), min(round(lost * LEVELS), LEVELS - 1)
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[:count].view(*shape) >= levels - LEVELS // 2


Mask = Callable[[Tensor], Tensor]
"""Hides part of the embedded input: (B, S, D) -> (B, S, D)."""


def time_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each time step of each sample to zero with probability `mask_ratio`, all channels together."""
    if mask_ratio == 0:
        return x
    return x * survivors((*x.shape[:2], 1), mask_ratio, x.device)  # (B, S, D)


def frequency_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each element (sample, frequency bin, channel) of the spectrum to zero with probability `mask_ratio`."""
    if mask_ratio == 0:
        return x
    batch, steps, channels = x.shape
    # Drawn in the order in which an FFT leaves its results in memory.
    keep = survivors((batch, channels, steps // 2 + 1), mask_ratio, x.device).mT  # (B, S // 2 + 1, D)
    masked: Tensor = _KeptFrequencies.apply(x, keep)  # type: ignore[no-untyped-call]
    return masked


class _KeptFrequencies(torch.autograd.Function):
    """`plain_kept_frequencies` with a gradient by real FFTs; autograd would use a complex one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor) -> Tensor:
        ctx.save_for_backward(keep)
        return plain_kept_frequencies(x, keep)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return plain_kept_frequencies(outer[0], keep), None


def plain_kept_frequencies(x: Tensor, keep: Tensor) -> Tensor:
    """Elements of the spectrum kept or set to zero: (B, S, D), (B, S // 2 + 1, D) bool -> (B, S, D).

    y = A x with A = irfft keep rfft. A filter that only scales the elements of a real signal's spectrum is a symmetric
    matrix, so that with g = dL/dy the gradient is dL/dx = A g.
    """
    # Half precision has no FFT.
    spectrum = torch.fft.rfft(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)  # (B, S // 2 + 1, D)
    kept: Tensor = torch.fft.irfft(spectrum.mul_(keep), n=x.shape[1], dim=1)  # (B, S, D)
    return kept.to(x.dtype)


def continuous_mask(x: Tensor, spans: int, span_share: float) -> Tensor:
    """Set `spans` random stretches of time of each sample to zero (TS2Vec; COMET).

    A span is int(span_share * S) steps, at least one; spans may overlap.
    """
    if spans == 0 or span_share == 0:
        return x
    batch, steps = x.shape[:2]
    length = max(1, int(span_share * steps))
    start = torch.randint(steps - length + 1, (batch, spans, 1), device=x.device)  # (B, N, 1)
    time = torch.arange(steps, device=x.device)  # (S,)
    hidden = ((time >= start) & (time < start + length)).any(1)  # (B, S)
    return x * ~hidden[..., None]  # (B, S, D)


def frequency_and_time_mask(x: Tensor, frequency_ratio: float, time_ratio: float) -> Tensor:
    """Both masks in the paper's order: (B, S, D) -> (B, S, D)."""
    return time_mask(frequency_mask(x, frequency_ratio), time_ratio)


def frequency_then_time(frequency_ratio: float, time_ratio: float) -> Mask:
    """A mask of both ratios; a ratio of 0 leaves its mask out."""
    return partial(frequency_and_time_mask, frequency_ratio=frequency_ratio, time_ratio=time_ratio)


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
