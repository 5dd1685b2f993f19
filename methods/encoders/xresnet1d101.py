"""A deep network of bottlenecks (xresnet1d101 of the PTB-XL benchmark, Strodthoff et al. 2021; He et al. 2019).

Three convolutions (the first halves the time steps), a maximum pool, then stages of 3, 4, 23 and 3 bottlenecks, of
which all but the first stage halve the time steps: S' = ceil(S / 32). A mask acts on the three convolutions' output,
(B, ceil(S / 2), K / 4).

Weights start as the benchmark's training sets them: normal by He et al. (2015), all batch normalisations at 1 (the
module's constructor puts those at the end of a bottleneck at 0, and the training resets them).
"""

from __future__ import annotations

from typing import Annotated

import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import Encoder, EncoderConfig, Size, convolution

KERNEL = 5
STEM = 3
"""Convolutions before the stages."""
EXPANSION = 4
"""Channels of a bottleneck's output per channel inside."""
STRIDE = 32
"""Samples from one time step of the output to the next."""


@dataclass(frozen=True, kw_only=True)
class XResNet1d101Config(EncoderConfig):
    """Sizes; the defaults are the benchmark's and give 1,804,672 parameters."""

    output: Annotated[int, Field(ge=8, multiple_of=8)] = 256
    """K, the channels of every bottleneck's output; a quarter of them inside, an eighth in the first convolutions."""
    third_stage: Size = 23
    """Bottlenecks of the third stage; the others have 3, 4 and 3."""

    def check_length(self, samples: int) -> None:
        """Raise ValueError for windows shorter than a step of the output."""
        if samples < STRIDE:
            raise ValueError(f"its steps are {STRIDE} samples apart; use windows of {STRIDE} or more")

    @classmethod
    def small(cls) -> XResNet1d101Config:
        """Return eight channels inside a bottleneck, one bottleneck in the third stage."""
        return cls(output=32, third_stage=1)


class Bottleneck(nn.Module):
    """Residual block. Its shortcut is a 1x1 convolution where the channels change, an average where the steps do."""

    def __init__(self, channels: int, output: int, stride: int) -> None:
        super().__init__()
        inside = output // EXPANSION
        self.path = nn.Sequential(
            normalised(channels, inside, 1),
            nn.ReLU(),
            normalised(inside, inside, KERNEL, stride),
            nn.ReLU(),
            normalised(inside, output, 1),
        )
        self.shortcut = nn.Sequential(
            nn.Identity() if stride == 1 else nn.AvgPool1d(stride, ceil_mode=True),
            nn.Identity() if channels == output else normalised(channels, output, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, S) -> (B, K, ceil(S / stride))."""
        return F.relu(self.path(x) + self.shortcut(x))  # (B, K, S')


def normalised(channels: int, width: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Make a convolution that divides the length by its stride alone, and batch normalisation in place of a bias."""
    layer = convolution(channels, width, kernel, stride)
    nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(layer, nn.BatchNorm1d(width))


class XResNet1d101(Encoder):
    """ECG windows -> representations at every 32nd time step."""

    name, Config = "xresnet1d101", XResNet1d101Config
    config: XResNet1d101Config

    def __init__(self, config: XResNet1d101Config | None = None) -> None:
        super().__init__(config)
        leads, output = self.config.leads, self.config.output
        widths = (leads, output // 8, output // 8, output // EXPANSION)
        self.stem = nn.Sequential()
        for layer in range(STEM):
            self.stem.append(normalised(widths[layer], widths[layer + 1], KERNEL, 2 if layer == 0 else 1))
            self.stem.append(nn.ReLU())
        self.stages = nn.Sequential()
        for number, blocks in enumerate((3, 4, self.config.third_stage, 3)):
            channels, stride = (widths[-1], 1) if number == 0 else (output, 2)
            first = Bottleneck(channels, output, stride)
            rest = range(blocks - 1)
            self.stages.append(nn.Sequential(first, *[Bottleneck(output, output, 1) for _ in rest]))

    def embed(self, x: Tensor) -> Tensor:
        """Compute the output of the first three convolutions: (B, S, L) -> (B, ceil(S / 2), K / 4)."""
        return self.stem(x.mT).mT  # (B, ceil(S / 2), K / 4)

    def steps(self, embedded: Tensor) -> Tensor:
        """Map (B, ceil(S / 2), K / 4) -> (B, ceil(S / 32), K)."""
        pooled = F.max_pool1d(embedded.mT, 3, stride=2, padding=1)  # (B, K / 4, ceil(S / 4))
        return self.stages(pooled).mT  # (B, S', K)
