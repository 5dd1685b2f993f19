"""A dilated convolution network over time, the encoder of the paper (PMQ, section "Implementation details").

Linear leads -> hidden, `depth` residual blocks and an output block; block i is GELU-Conv-GELU-Conv with kernel 3 and
dilation 2^i. A mask acts on the linear layer's output, (B, S', hidden), S' = S unless `pool` averages samples first.
Two exact shortcuts save time: taps that read only padding are not computed, and the mean over time is taken before the
last convolution.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import Encoder, EncoderConfig, Size
from methods.parts.layers import Mask

KERNEL = 3


@dataclass(frozen=True, kw_only=True)
class DilatedConfig(EncoderConfig):
    """Sizes; the defaults are the paper's and give 637,952 parameters."""

    hidden: Size = 64
    """Channels of the hidden blocks."""
    depth: Annotated[int, Field(ge=0)] = 10
    """Hidden blocks, before the output block."""
    output: Size = 320
    """K, the width of a representation."""
    pool: Size = 1
    """Consecutive samples averaged into one time step, not in the paper: 3 takes 250 Hz to 83 Hz at a third of the
    cost."""

    @classmethod
    def small(cls) -> DilatedConfig:
        """Return three blocks of 8 channels."""
        return cls(hidden=8, depth=3, output=16)


class DilatedBlock(nn.Module):
    """Residual block. In the output block, which changes the number of channels, `skip` is a 1x1 convolution."""

    def __init__(self, channels: int, dilation: int, output: int | None = None) -> None:
        super().__init__()
        width = output or channels
        self.conv1 = nn.Conv1d(channels, width, KERNEL, dilation=dilation)
        self.conv2 = nn.Conv1d(width, width, KERNEL, dilation=dilation)
        self.skip = nn.Conv1d(channels, width, 1) if output else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, 1, S) -> (B, O, 1, S)."""
        return convolve(self.conv2, self.between(x)) + self.shortcut(x)  # (B, O, 1, S)

    def mean_over_time(self, x: Tensor) -> Tensor:
        """Compute the mean over time of `forward`: (B, C, 1, S) -> (B, O, 1, 1)."""
        # Exact: the last convolution and the skip are linear, so the mean can be taken of their inputs.
        means = mean_per_tap(self.between(x), self.conv2.dilation[0])  # (B, O, 1, KERNEL)
        last = F.conv2d(means, self.conv2.weight.unsqueeze(2), self.conv2.bias)  # (B, O, 1, 1)
        mean = steps_first(x).mean(1)  # (B, C)
        return last + self.shortcut(mean[..., None, None])  # (B, O, 1, 1)

    def between(self, x: Tensor) -> Tensor:
        """Compute the input of the second convolution: (B, C, 1, S) -> (B, O, 1, S)."""
        return F.gelu(convolve(self.conv1, F.gelu(x)))  # (B, O, 1, S)

    def shortcut(self, x: Tensor) -> Tensor:
        """Compute the residual path: (B, C, 1, S) -> (B, O, 1, S)."""
        return x if self.skip is None else convolve(self.skip, x)  # (B, O, 1, S)


def convolve(conv: nn.Conv1d, x: Tensor) -> Tensor:
    """Convolve, length-preserving, with the weights of `conv`: (B, C, 1, S) -> (B, O, 1, S).

    The singleton axis lets activations lie in memory as (B, S, C), which on CPUs is up to twice as fast.
    """
    weight = conv.weight.unsqueeze(2)  # (O, C, 1, KERNEL)
    (dilation,) = conv.dilation
    if conv.kernel_size == (1,):
        return F.conv2d(x, weight, conv.bias)
    if dilation >= x.shape[-1]:
        # Exact: the outer taps would read zeros. Slicing leaves them a gradient of exact zeros, as the zeros would,
        # so that weight decay moves them in the same way.
        return F.conv2d(x, weight[..., 1:2], conv.bias)
    return F.conv2d(x, weight, conv.bias, padding=(0, dilation), dilation=(1, dilation))


def mean_per_tap(x: Tensor, dilation: int) -> Tensor:
    """Average the input of each tap of a length-preserving convolution: (B, C, 1, S) -> (B, C, 1, KERNEL).

    The outer taps miss the last or first `dilation` samples and read as many zeros in their place.
    """
    steps = steps_first(x)  # (B, S, C)
    if dilation >= steps.shape[1]:
        return F.pad(steps.mean(1)[..., None, None], (1, 1))  # (B, C, 1, KERNEL)
    sums = [steps[:, :-dilation].sum(1), steps.sum(1), steps[:, dilation:].sum(1)]  # each (B, C)
    return torch.stack(sums, -1).unsqueeze(2) / steps.shape[1]  # (B, C, 1, KERNEL)


def steps_first(x: Tensor) -> Tensor:
    """Permute (B, C, 1, S) -> (B, S, C), the order in memory, in which gradients of what follows are too."""
    return x.squeeze(2).transpose(1, 2)  # (B, S, C)


def channels_first(steps: Tensor) -> Tensor:
    """Permute (B, S, C) -> (B, C, 1, S), a view of memory laid out (B, S, C)."""
    return steps.contiguous().transpose(1, 2).unsqueeze(2)  # (B, C, 1, S); an FFT leaves its result laid out otherwise


class Dilated(Encoder):
    """ECG windows -> representations. `encoder(x)` is per time step, `encoder.pooled(x)` the mean over time."""

    name, Config = "dilated", DilatedConfig
    config: DilatedConfig

    def __init__(self, config: DilatedConfig | None = None) -> None:
        super().__init__(config)
        self.input = nn.Linear(self.config.leads, self.config.hidden)
        self.hidden = nn.Sequential(*[DilatedBlock(self.config.hidden, 2**i) for i in range(self.config.depth)])
        self.output = DilatedBlock(self.config.hidden, 2**self.config.depth, self.config.output)

    def embed(self, x: Tensor) -> Tensor:
        """Map leads to hidden channels: (B, S, L) -> (B, S', D), S' = ceil(S / pool)."""
        if self.config.pool > 1:
            x = F.avg_pool1d(x.mT, self.config.pool, ceil_mode=True).mT  # (B, S', L)
        return self.input(x)  # (B, S', D)

    def steps(self, embedded: Tensor) -> Tensor:
        """Map (B, S, D) -> (B, S, K)."""
        x: Tensor = self.output(self.hidden(channels_first(embedded)))  # (B, K, 1, S)
        return steps_first(x)  # (B, S, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Compute the representation of a window, the mean over time of `forward`: (B, S, L) -> (B, K)."""
        if self.training and self.dropout > 0:
            return super().pooled(x, mask)  # (B, K)
        return self.output.mean_over_time(self.hidden(channels_first(self.masked(x, mask)))).flatten(1)  # (B, K)


def load_released(state_dict: Mapping[str, Tensor]) -> Dilated:
    """Build an encoder with the weights of a checkpoint by the authors of PMQ or COMET; its sizes follow the tensors.

    `state_dict` is bare or as `AveragedModel` saves it (prefix `module.`, entry `n_averaged`). Raises ValueError for
    any other.
    """
    blocks = [int(match[1]) for name in state_dict if (match := re.search(r"feature_extractor\.net\.(\d+)\.", name))]
    depth = max(blocks, default=0)
    state = {_our_name(name, depth): value for name, value in state_dict.items() if name != "n_averaged"}
    try:
        hidden, leads = state["input.weight"].shape
        output = len(state["output.skip.weight"])
        encoder = Dilated(DilatedConfig(leads=leads, hidden=hidden, depth=depth, output=output))
        encoder.load_state_dict(state, strict=True)
    except (KeyError, RuntimeError) as error:
        raise ValueError(f"not the state_dict of a released encoder: {' '.join(str(error).split())}") from None
    return encoder


def _our_name(released: str, depth: int) -> str:
    """Name in `Dilated` of a tensor of the released encoder with `depth` hidden blocks."""
    name = released.removeprefix("module.").replace("input_fc.", "input.").replace(".projector.", ".skip.")
    name = re.sub(r"(conv[12])\.conv\.", r"\1.", name)
    return name.replace(f"feature_extractor.net.{depth}.", "output.").replace("feature_extractor.net.", "hidden.")
