"""A vision transformer over time (ViT-1D of ST-MEM, Na et al. 2024; Dosovitskiy et al. 2021).

A token is `patch` consecutive samples of all leads; a class token stands before them. `forward` gives the tokens after
the last block, the class token first, S' = S / patch + 1; `pooled` is the normalised class token. A mask acts on the
tokens before positions are added, (B, S / patch, K).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, EncoderConfig
from methods.encoders.layers.transformer import START, taken
from methods.encoders.official.st_mem import renamed, sizes_of
from methods.encoders.tokens import TokenConfig, TokenEncoder, blocks_of, patch_embedding

OFFICIAL_LEADS = 12
"""Leads of the official module, of which its tensors tell nothing."""
OWN_NAMES = {"pos_embedding": "positions", "cls_embedding": "class_token"}
OWN_NAMES |= {name: name for name in ("norm.weight", "norm.bias")}
"""Names of official tensors outside blocks and patch embedding -> ours."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ViT1dConfig(TokenConfig):
    """Sizes; those of ST-MEM's ViT-S but for the patch, which is 75 there and here divides a heartbeat into twelve."""

    @classmethod
    def small(cls) -> ViT1dConfig:
        """Two blocks of width 16 over tokens of two samples."""
        return cls(patch=2, length=300, output=16, depth=2, heads=2, head_width=8, hidden=32)


class ViT1d(TokenEncoder):
    """ECG windows -> a class token and tokens in the order of time."""

    name: ClassVar[str] = "vit1d"
    Config: ClassVar[type[EncoderConfig]] = ViT1dConfig
    pooling: ClassVar[str] = "the class token after the last block, normalised"
    config: ViT1dConfig

    def __init__(self, config: ViT1dConfig | None = None) -> None:
        super().__init__(config)
        patch, width = self.config.patch, self.config.output
        self.input = patch_embedding(patch * self.config.leads, width)
        self.positions = nn.Parameter(START * torch.randn(1 + self.config.length // patch, width))  # (1 + N, K)
        self.class_token = nn.Parameter(START * torch.randn(width))  # (K,)
        self.blocks = blocks_of(self.config)
        self.norm = nn.LayerNorm(width)

    def cut(self, x: Tensor) -> Tensor:
        """Sample by sample: (B, S, L) -> (B, S / patch, patch * L)."""
        return x.reshape(x.shape[0], x.shape[1] // self.config.patch, -1)  # (B, N, P)

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, N, K) -> (B, 1 + N, K), the class token first."""
        return self.seen(self.placed(embedded))  # (B, 1 + N, K)

    def placed(self, embedded: Tensor) -> Tensor:
        """Tokens with their positions: (B, N, K) -> (B, N, K)."""
        return embedded + self.positions[1 : 1 + embedded.shape[1]]  # (B, N, K)

    def seen(self, placed: Tensor) -> Tensor:
        """Tokens at their positions through the blocks, with the class token: (B, M, K) -> (B, 1 + M, K)."""
        first = (self.class_token + self.positions[0]).expand(placed.shape[0], 1, -1)  # (B, 1, K)
        seen: Tensor = self.blocks(torch.cat([first, placed], 1))  # (B, 1 + M, K)
        return seen

    def kept_steps(self, embedded: Tensor, kept: Tensor) -> Tensor:
        """See `Encoder.kept_steps`; the class token goes through the blocks too and is left out of the result."""
        return self.seen(taken(self.placed(embedded), kept))[:, 1:]  # (B, M, K)

    def summary(self, steps: Tensor) -> Tensor:
        """The class token: (B, 1 + N, K) -> (B, K)."""
        return steps[:, 0]  # (B, K)

    @classmethod
    def ours(cls, state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of ST-MEM's `ViT` under our names. Raises ValueError for any others."""
        return renamed({name: value for name, value in state_dict.items() if not name.startswith("head.")}, OWN_NAMES)

    @classmethod
    def sizes(cls, ours: Mapping[str, Tensor]) -> dict[str, Any]:
        """Sizes of twelve leads. Raises ValueError where these do not divide a token."""
        samples = ours["input.1.weight"].shape[1]
        if samples % OFFICIAL_LEADS:
            raise ValueError(f"{OFFICIAL_LEADS} leads do not divide the {samples} samples of a patch")
        patch = samples // OFFICIAL_LEADS
        length = patch * (len(ours["positions"]) - 1)
        return {"leads": OFFICIAL_LEADS, "patch": patch, "length": length} | sizes_of(ours)
