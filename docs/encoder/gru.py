"""A recurrent encoder: a convolution that halves the time steps, then a bidirectional GRU (Cho et al. 2014).

The worked example of docs/METHODS.md. S' = ceil(S / 2); a mask acts on a linear embedding of the leads, (B, S, D).
"""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size

KERNEL, STRIDE = 5, 2


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GRUConfig(EncoderConfig):
    """Sizes of the recurrent encoder."""

    output: Size = 64
    """K, both directions together; even."""
    hidden: Size = 32
    """D, the width of the embedding."""

    def __post_init__(self) -> None:
        if self.output % 2:
            raise ValueError(f"output is {self.output}: must be even, half for each direction")

    @classmethod
    def small(cls) -> GRUConfig:
        """16 outputs."""
        return cls(output=16, hidden=8)


class GRU(Encoder):
    """ECG windows -> representations at half of the time steps."""

    name: ClassVar[str] = "gru"
    Config: ClassVar[type[EncoderConfig]] = GRUConfig

    def __init__(self, config: GRUConfig | None = None) -> None:
        super().__init__(config)
        sizes: GRUConfig = self.config  # type: ignore[assignment]
        self.embedding = nn.Linear(sizes.leads, sizes.hidden)
        self.halve = nn.Conv1d(sizes.hidden, sizes.hidden, KERNEL, STRIDE, padding=KERNEL // 2)
        self.gru = nn.GRU(sizes.hidden, sizes.output // 2, batch_first=True, bidirectional=True)

    def embed(self, x: Tensor) -> Tensor:
        """(B, S, L) -> (B, S, D)."""
        embedded: Tensor = self.embedding(x)  # (B, S, D)
        return embedded

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, S, D) -> (B, ceil(S / 2), K)."""
        halved = F.gelu(self.halve(embedded.mT)).mT  # (B, S', D)
        steps: Tensor = self.gru(halved)[0]  # (B, S', K)
        return steps
