"""Masks of the embedded input, (B, S, D) -> (B, S, D) (PMQ, section "Data Augmentations").

A ratio is the share that is hidden, so that 0 is off. Masks are drawn where the data are, from torch's default
generator. The paper's order is frequency first, then time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from methods.parts.encoder import Mask


def time_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each time step of each sample to zero with probability `mask_ratio`, all channels together."""
    if mask_ratio == 0:
        return x
    keep = torch.rand(*x.shape[:2], 1, device=x.device) >= mask_ratio  # (B, S, 1)
    return x * keep  # (B, S, D)


def frequency_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """Set each element (sample, frequency bin, channel) of the spectrum to zero with probability `mask_ratio`."""
    if mask_ratio == 0:
        return x
    # Half precision has no FFT.
    spectrum = torch.fft.rfft(x.to(torch.promote_types(x.dtype, torch.float32)), dim=1)  # (B, S // 2 + 1, D)
    keep = torch.rand(spectrum.shape, device=x.device) >= mask_ratio  # (B, S // 2 + 1, D)
    masked: Tensor = torch.fft.irfft(spectrum * keep, n=x.shape[1], dim=1)  # (B, S, D)
    return masked.to(x.dtype)


def continuous_mask(x: Tensor, spans: int, span_share: float) -> Tensor:
    """Set `spans` stretches of each sample, each a share of the time and at random, to zero (TS2Vec; COMET).

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


@dataclass(frozen=True)
class Masks:
    """Masks that act one after the other, by name; without any, a mask that hides nothing."""

    steps: Mapping[str, Mask]

    def __call__(self, x: Tensor) -> Tensor:
        """All of them: (B, S, D) -> (B, S, D)."""
        for step in self.steps.values():
            x = step(x)  # (B, S, D)
        return x


def frequency_then_time(frequency_ratio: float, time_ratio: float) -> Masks:
    """Both masks in the paper's order, without one that is off."""
    steps = {"frequency": (frequency_mask, frequency_ratio), "time": (time_mask, time_ratio)}
    return Masks({name: partial(mask, mask_ratio=ratio) for name, (mask, ratio) in steps.items() if ratio > 0})
