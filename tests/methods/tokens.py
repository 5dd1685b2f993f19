"""A small encoder of tokens, for methods that need them: a linear map of patches and one attention block."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PatchesConfig(EncoderConfig):
    """Sizes."""

    output: Size = 8
    patch: Size = 5
    """Samples of a token."""

    @classmethod
    def small(cls) -> PatchesConfig:
        """Tokens of four samples."""
        return cls(patch=4)

    def check_length(self, samples: int) -> None:
        """See `EncoderConfig.check_length`."""
        if samples % self.patch:
            raise ValueError(f"patch {self.patch} does not divide it")


class Patches(Encoder):
    """Windows -> tokens of `patch` samples."""

    name: ClassVar[str] = "patches"
    Config: ClassVar[type[EncoderConfig]] = PatchesConfig
    config: PatchesConfig

    def __init__(self, config: PatchesConfig | None = None) -> None:
        super().__init__(config)
        width = self.config.output
        self.input = nn.Linear(self.config.patch * self.config.leads, width)
        self.place = nn.Linear(1, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.0, batch_first=True)

    def patches(self, x: Tensor) -> Tensor:
        """(B, S, L) -> (B, N, P)."""
        return x.unflatten(1, (-1, self.config.patch)).flatten(2)

    def embed(self, x: Tensor) -> Tensor:
        """(B, S, L) -> (B, N, K)."""
        return self.input(self.patches(x))

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, N, K) -> (B, N, K)."""
        count, tokens, _ = embedded.shape
        return self.encode_tokens(embedded, torch.arange(tokens, device=embedded.device).expand(count, -1))

    def encode_tokens(self, embedded: Tensor, visible: Tensor) -> Tensor:
        """(B, N, K), (B, M) -> (B, M, K)."""
        tokens = embedded.gather(1, visible.unsqueeze(2).expand(-1, -1, embedded.shape[2]))  # (B, M, K)
        return self.block(tokens + self.place(visible.unsqueeze(2) / embedded.shape[1]))  # (B, M, K)
