"""A residual convolution network (resnet1d_wang of the PTB-XL benchmark, Strodthoff et al. 2021; Wang et al. 2017).

A convolution over 7 samples, then three blocks of two convolutions over 5 and 3, all of one width, with batch
normalisation. The second and third block halve the time steps: S' = ceil(S / 4). A mask acts on the first
convolution's output after its ReLU, (B, S, K).

For batch normalisation in momentum copies see `methods.momentum`.
"""

from __future__ import annotations

import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import Encoder, EncoderConfig, Size, convolution

STEM_KERNEL, KERNELS = 7, (5, 3)
STRIDES = (1, 2, 2)
"""Stride of each block."""


@dataclass(frozen=True, kw_only=True)
class ResNet1dConfig(EncoderConfig):
    """Width; the default is the benchmark's and gives 439,040 parameters."""

    output: Size = 128
    """K, the channels of every layer."""

    @classmethod
    def small(cls) -> ResNet1dConfig:
        """Return 16 channels."""
        return cls(output=16)


class ResidualBlock(nn.Module):
    """Residual block. With stride 2 the shortcut is a 1x1 convolution with batch normalisation."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        first, second = KERNELS
        self.conv1 = convolution(width, width, first, stride)
        self.bn1 = nn.BatchNorm1d(width)
        self.conv2 = convolution(width, width, second)
        self.bn2 = nn.BatchNorm1d(width)
        halves = stride > 1
        self.shortcut = nn.Sequential(convolution(width, width, 1, stride), nn.BatchNorm1d(width)) if halves else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, K, S) -> (B, K, ceil(S / stride))."""
        shortcut = x if self.shortcut is None else self.shortcut(x)  # (B, K, S')
        x = F.relu(self.bn1(self.conv1(x)))  # (B, K, S')
        return F.relu(self.bn2(self.conv2(x)) + shortcut)  # (B, K, S')


class ResNet1d(Encoder):
    """ECG windows -> representations at a quarter of the time steps."""

    name, Config = "resnet1d", ResNet1dConfig

    def __init__(self, config: ResNet1dConfig | None = None) -> None:
        super().__init__(config)
        leads, width = self.config.leads, self.config.output
        self.stem = nn.Sequential(convolution(leads, width, STEM_KERNEL), nn.BatchNorm1d(width), nn.ReLU())
        self.blocks = nn.Sequential(*[ResidualBlock(width, stride) for stride in STRIDES])

    def embed(self, x: Tensor) -> Tensor:
        """Compute the output of the first convolution: (B, S, L) -> (B, S, K)."""
        return self.stem(x.mT).mT  # (B, S, K)

    def steps(self, embedded: Tensor) -> Tensor:
        """Map (B, S, K) -> (B, ceil(S / 4), K)."""
        return self.blocks(embedded.mT).mT  # (B, S', K)
