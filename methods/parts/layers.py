"""Layers that methods share: masks of the embedded input, (B, S, D) -> (B, S, D), dropout, and heads of one width.

A ratio is the share that is hidden; 0 is off. Masks are drawn on the data's device, from torch's default generator.
The paper's order is frequency first, then time (PMQ, section "Data Augmentations"). On CPUs a draw of 64 bits serves
four elements with 16 bits each, since one draw per element would dominate the cost; the share that is hidden is then a
multiple of 1 / 65,536.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 2**16
Mask = Callable[[Tensor], Tensor]
"""Hides part of the embedded input: (B, S, D) -> (B, S, D)."""


def bernoulli_mask(shape: Sequence[int], drop_prob: float, device: torch.device) -> Tensor:
    """Draw True with probability 1 - `drop_prob`, elements independent: `shape`, bool."""
    if device.type != "cpu":
        return torch.rand(*shape, device=device) >= drop_prob
    if drop_prob == 1:
        return torch.zeros(*shape, dtype=torch.bool)
    count = prod(shape)
    levels = min(round(drop_prob * LEVELS), LEVELS - 1)
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[:count].view(*shape) >= levels - LEVELS // 2


def time_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each time step of each sample to zero with probability `mask_ratio`, all channels together."""
    if mask_ratio == 0:
        return x
    return x * bernoulli_mask((*x.shape[:2], 1), mask_ratio, x.device)  # (B, S, D)


def frequency_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each element (sample, frequency bin, channel) of the spectrum to zero with probability `mask_ratio`."""
    if mask_ratio == 0:
        return x
    batch, steps, channels = x.shape
    # Drawn in the order in which an FFT leaves its results in memory.
    visible = bernoulli_mask((batch, channels, steps // 2 + 1), mask_ratio, x.device).mT  # (B, S // 2 + 1, D)
    # Half precision has no FFT.
    spectrum = torch.fft.rfft(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)  # (B, S // 2 + 1, D)
    masked: Tensor = torch.fft.irfft(spectrum * visible, n=steps, dim=1)  # (B, S, D)
    return masked.to(x.dtype)


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


def frequency_then_time(frequency_ratio: float, time_ratio: float) -> Mask:
    """Make a mask of both ratios, in the paper's order; a ratio of 0 leaves its mask out."""
    return lambda x: time_mask(frequency_mask(x, frequency_ratio), time_ratio)


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """Set a share of the elements to 0 and scale the others up (Srivastava et al. 2014); `x` outside training."""
    if not training or share == 0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    drop_prob = min(round(share * LEVELS), LEVELS - 1) / LEVELS  # the exact share, so that the mean stays
    return x * bernoulli_mask(x.shape, drop_prob, x.device) * (1 / (1 - drop_prob))


def batch_norm_head(width: int, layers: int) -> nn.Sequential:
    """Make `layers` of Linear-BatchNorm with ReLU between: (B, width) -> (B, width). The last is normalised too.

    The projection head (three layers) and the prediction head (two) of PMQ, section "Implementation details".
    Layer i is modules 3i to 3i + 1; ReLU is module 3i + 2.
    """
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def mlp_head(width: int, layers: int) -> nn.Sequential:
    """Make `layers` of Linear with ReLU between, no normalisation: (B, width) -> (B, width). MoCo v2 has two."""
    modules: list[nn.Module] = []
    for _ in range(layers):
        modules += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*modules[:-1])
