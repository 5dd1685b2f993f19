"""Structured state spaces over time (S4, Gu et al. 2022; as in ECG-CPC of AI4Health).

`depth` layers, each a linear state space per channel as a long convolution (layers/state_space.py), GELU, a gated
linear layer, the sum with its input and layer normalisation. Causal: a step sees no later one; bidirectional: it sees
both sides.

The front is ECG-CPC's four convolutions (the first halves the time steps), one linear layer, or nothing. A mask acts on
its output, (B, S', K).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size
from methods.encoders.layers.state_space import StateSpace, Taps
from methods.encoders.official.s4 import renamed, sizes_of

KERNELS, STRIDE = (3, 1, 1, 1), 2
"""Widths of the front's convolutions, and the stride of the first."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class S4Config(EncoderConfig):
    """Sizes; the defaults are ECG-CPC's and give 2,932,736 parameters, 2,123,776 of them behind the front."""

    output: Size = 512
    """K, the channels of every layer."""
    depth: Annotated[int, Field(ge=1)] = 4
    """Layers."""
    states: Annotated[int, Field(ge=2, multiple_of=2)] = 8
    """N, the states of a channel."""
    bidirectional: bool = False
    """Whether a step sees later steps too."""
    front: Literal["convolutions", "linear", "none"] = "convolutions"
    """Leads -> channels; convolutions halve the time steps, none needs `output` leads."""
    length: Size = 1250
    """Most time steps behind the front: 10 s at 250 Hz behind convolutions. Weights belong to one length."""

    def unfit(self, samples: int) -> str:
        """See `EncoderConfig.unfit`."""
        steps = math.ceil(samples / STRIDE) if self.front == "convolutions" else samples
        if steps <= self.length:
            return ""
        most = self.length * STRIDE if self.front == "convolutions" else self.length
        return f"encoder.length {self.length} reaches {most} of them; set encoder.length={steps}"

    @classmethod
    def small(cls) -> S4Config:
        """Two layers of 16 channels."""
        return cls(output=16, depth=2, states=4, length=150)


class Layer(nn.Module):
    """A state space, GELU, a gated linear layer, the sum with the input, layer normalisation."""

    def __init__(self, config: S4Config) -> None:
        super().__init__()
        width = config.output
        self.space = StateSpace(width, config.states, config.length, bidirectional=config.bidirectional)
        self.mix = nn.Sequential(nn.GELU(), nn.Linear(width, 2 * width), nn.GLU())
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, S, K) -> (B, S, K)."""
        mixed: Tensor = self.norm(x + self.mix(self.space(x.mT).mT))  # (B, S, K)
        return mixed


class Convolutions(nn.Sequential):
    """ECG-CPC's front: four convolutions with batch normalisation; the first halves the time steps."""

    def __init__(self, leads: int, width: int) -> None:
        super().__init__()
        for number, kernel in enumerate(KERNELS):
            channels, stride = (leads, STRIDE) if number == 0 else (width, 1)
            convolution = nn.Conv1d(channels, width, kernel, stride, padding=kernel // 2, bias=False)
            self.append(nn.Sequential(convolution, nn.BatchNorm1d(width), nn.ReLU()))

    def forward(self, x: Tensor) -> Tensor:
        """(B, S, L) -> (B, ceil(S / 2), K)."""
        out: Tensor = super().forward(x.mT)  # type: ignore[no-untyped-call]  # (B, K, ceil(S / 2))
        return out.mT  # (B, ceil(S / 2), K)


class S4(Encoder):
    """ECG windows -> representations at every time step, or every second behind convolutions."""

    name: ClassVar[str] = "s4"
    Config: ClassVar[type[EncoderConfig]] = S4Config
    config: S4Config

    def __init__(self, config: S4Config | None = None) -> None:
        super().__init__(config)
        leads, width, front = self.config.leads, self.config.output, self.config.front
        if front == "none" and leads != width:
            raise ValueError(f"encoder.front none needs as many leads ({leads}) as encoder.output ({width})")
        fronts = {"convolutions": Convolutions, "linear": nn.Linear}
        self.front = nn.Identity() if front == "none" else fronts[front](leads, width)
        self.layers = nn.Sequential(*[Layer(self.config) for _ in range(self.config.depth)])

    def embed(self, x: Tensor) -> Tensor:
        """Output of the front: (B, S, L) -> (B, S', K). Raises ValueError for windows that `unfit` names."""
        if why := self.config.unfit(x.shape[1]):
            raise ValueError(f"encoder s4 cannot take windows of {x.shape[1]} samples: {why}")
        embedded: Tensor = self.front(x)  # (B, S', K)
        return embedded

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, S', K) -> (B, S', K)."""
        steps: Tensor = self.layers(embedded)  # (B, S', K)
        return steps

    def compile_blocks(self) -> None:
        """Have torch.compile fuse what follows each state space, whose complex numbers it does not take."""
        for layer in self.layers.children():
            layer.mix.compile(dynamic=False)  # type: ignore[union-attr]

    def for_export(self) -> Encoder:
        """See `Encoder.for_export`: with `Taps` in place of the state spaces."""
        encoder = copy.deepcopy(self)
        for layer in encoder.layers.children():
            layer.space = Taps(layer.space)  # type: ignore[arg-type]
        return encoder

    @classmethod
    def from_official(cls, state_dict: Mapping[str, Tensor]) -> Encoder:
        """An encoder with the weights of AI4Health's `S4Model`, with or without those of ECG-CPC's front.

        Sizes follow the tensors, `length` the roots of unity among them. Raises ValueError if a tensor is missing,
        unknown or of another shape.
        """
        try:
            ours = renamed(state_dict)
            encoder = cls(S4Config(**sizes_of(state_dict)))
            encoder.load_state_dict(ours, strict=True)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"official s4: {' '.join(str(error).split())}") from error
        return encoder
