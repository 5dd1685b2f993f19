"""The encoder, masks and momentum update in plain form: all taps, mean at the end, masks drawn on the host."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from methods.encoders.base import Encoder
from methods.encoders.dilated import Block, Dilated
from methods.parts.masks import Mask, Masks


class PlainDilated(Dilated):
    """`Dilated` with each convolution over all taps on (B, C, S) and every output computed before the mean."""

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Representation of each time step: (B, S, L) -> (B, S, K)."""
        x = self.input(x)  # (B, S, D)
        if mask is not None:
            x = mask(x)  # (B, S, D)
        x = x.transpose(1, 2)  # (B, D, S)
        for block in (*self.hidden, self.output):
            assert isinstance(block, Block)
            x = plain_block(block, x)  # (B, D, S), in the end (B, K, S)
        return F.dropout(x, self.dropout, self.training).transpose(1, 2)  # (B, S, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Representation of a window: (B, S, L) -> (B, K)."""
        steps: Tensor = self(x, mask)  # (B, S, K)
        return steps.mean(1)  # (B, K)


PLAIN_ENCODERS: dict[type[Encoder], type[Encoder]] = {Dilated: PlainDilated}
"""Plain form of each encoder that has one."""


def plain_block(block: Block, x: Tensor) -> Tensor:
    """A residual block: (B, C, S) -> (B, O, S)."""
    shortcut = x if block.skip is None else F.conv1d(x, block.skip.weight, block.skip.bias)  # (B, O, S)
    for conv in (block.conv1, block.conv2):
        (dilation,) = conv.dilation
        x = F.conv1d(F.gelu(x), conv.weight, conv.bias, padding=dilation, dilation=dilation)  # (B, O, S)
    return x + shortcut


def host_time_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """`time_mask` drawn by numpy: (B, S, D) -> (B, S, D)."""
    keep = np.random.default_rng().binomial(1, 1 - mask_ratio, x.shape[:2])  # (B, S)
    return x * torch.from_numpy(keep).to(x)[..., None]  # (B, S, D)


def host_frequency_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """`frequency_mask` drawn on the host: (B, S, D) -> (B, S, D)."""
    spectrum = torch.fft.rfft(x.float(), dim=1)  # (B, S // 2 + 1, D)
    keep = torch.rand(spectrum.shape) >= mask_ratio  # (B, S // 2 + 1, D)
    masked: Tensor = torch.fft.irfft(spectrum * keep.to(x.device), n=x.shape[1], dim=1)  # (B, S, D)
    return masked


def host_spans_mask(x: Tensor, spans: int, span_share: float) -> Tensor:
    """`continuous_mask` drawn sample by sample: (B, S, D) -> (B, S, D)."""
    batch, steps = x.shape[:2]
    length, generator = max(1, int(span_share * steps)), np.random.default_rng()
    keep = np.ones((batch, steps), bool)
    for sample in range(batch):
        for start in generator.integers(steps - length + 1, size=spans):
            keep[sample, start : start + length] = False
    return x * torch.from_numpy(keep).to(x)[..., None]  # (B, S, D)


def host_masks(frequency_ratio: float, time_ratio: float) -> Masks:
    """The masks of nonzero ratio, frequency first."""
    masks: dict[str, Mask] = {}
    if frequency_ratio > 0:
        masks["frequency"] = partial(host_frequency_mask, mask_ratio=frequency_ratio)
    if time_ratio > 0:
        masks["time"] = partial(host_time_mask, mask_ratio=time_ratio)
    return Masks(masks)


@torch.no_grad()
def follow(target: nn.Module, source: nn.Module, momentum: float | Tensor) -> None:
    """target <- momentum * target + (1 - momentum) * source, parameter by parameter."""
    for kept, new in zip(target.parameters(), source.parameters(), strict=True):
        kept.data = kept.data * momentum + new.data * (1 - momentum)
