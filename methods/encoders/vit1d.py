"""A vision transformer over time (ViT-1D of ST-MEM, Na et al. 2024; Dosovitskiy et al. 2021).

A token is `patch` consecutive samples of all leads; a class token stands before them. Pre-norm blocks of attention and
a two-layer perceptron. `forward` gives the tokens after the last block, the class token first, S' = S / patch + 1;
`pooled` is the normalised class token. A mask acts on the tokens before positions are added, (B, S / patch, K).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size
from methods.encoders.transformer import START, Block, heads_of, our_name, taken
from methods.parts.dropout import dropout
from methods.parts.masks import Mask

OFFICIAL_LEADS = 12
"""Leads of the official module, of which its tensors tell nothing."""
OWN_NAMES = {"pos_embedding": "positions", "cls_embedding": "class_token"}
OWN_NAMES |= {name: name for name in ("norm.weight", "norm.bias")}
"""Names of official tensors outside blocks and patch embedding -> ours."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ViT1dConfig(EncoderConfig):
    """Sizes; those of ST-MEM's ViT-S but for the patch, which is 75 there and here divides a heartbeat into twelve."""

    patch: Size = 25
    """Samples of a token."""
    length: Size = 2500
    """Samples of the longest window, 10 s at 250 Hz: a learned position for each token of it."""
    output: Size = 384
    """K, the width of a token."""
    depth: Annotated[int, Field(ge=1)] = 12
    """Blocks."""
    heads: Size = 6
    """Attention heads of a block."""
    head_width: Size = 64
    """Width of a head."""
    hidden: Size = 1536
    """Width of the perceptrons' hidden layer."""

    def __post_init__(self) -> None:
        if self.length % self.patch:
            raise ValueError(f"patch {self.patch} does not divide length {self.length}")

    def unfit(self, samples: int) -> str:
        """See `EncoderConfig.unfit`."""
        if samples % self.patch:
            fitting = [patch for patch in range(1, samples + 1) if samples % patch == 0 and self.length % patch == 0]
            near = sorted(sorted(fitting, key=lambda patch: abs(patch - self.patch))[:3])
            below = samples - samples % self.patch
            windows = " or ".join(str(length) for length in (below, below + self.patch) if length)
            patches = " or ".join(map(str, near))
            return f"encoder.patch {self.patch} does not divide them; use {patches}, or windows of {windows} samples"
        if samples > self.length:
            return f"encoder.length is {self.length}; set encoder.length={samples}"
        return ""

    @classmethod
    def small(cls) -> ViT1dConfig:
        """Two blocks of width 16 over tokens of two samples."""
        return cls(patch=2, length=300, output=16, depth=2, heads=2, head_width=8, hidden=32)


class ViT1d(Encoder):
    """ECG windows -> a class token and tokens in the order of time."""

    name: ClassVar[str] = "vit1d"
    Config: ClassVar[type[EncoderConfig]] = ViT1dConfig
    pooling: ClassVar[str] = "the class token after the last block, normalised"
    of_pooled: ClassVar[tuple[str, ...]] = ("norm.weight", "norm.bias")
    tokens: ClassVar[bool] = True
    config: ViT1dConfig

    def __init__(self, config: ViT1dConfig | None = None) -> None:
        super().__init__(config)
        samples, width = self.config.patch * self.config.leads, self.config.output
        self.input = nn.Sequential(nn.LayerNorm(samples), nn.Linear(samples, width), nn.LayerNorm(width))
        self.positions = nn.Parameter(START * torch.randn(1 + self.config.length // self.config.patch, width))
        self.class_token = nn.Parameter(START * torch.randn(width))
        sizes = self.config.heads, self.config.head_width, self.config.hidden
        self.blocks = nn.Sequential(*[Block(width, *sizes) for _ in range(self.config.depth)])
        self.norm = nn.LayerNorm(width)

    def patches(self, x: Tensor) -> Tensor:
        """Samples of each token, sample by sample: (B, S, L) -> (B, N, patch * L).

        Raises ValueError for windows that `unfit` names.
        """
        if why := self.config.unfit(x.shape[1]):
            raise ValueError(f"encoder vit1d cannot take windows of {x.shape[1]} samples: {why}")
        return x.reshape(x.shape[0], x.shape[1] // self.config.patch, -1)  # (B, N, P)

    def embed(self, x: Tensor) -> Tensor:
        """Tokens without positions: (B, S, L) -> (B, N, K)."""
        embedded: Tensor = self.input(self.patches(x))  # (B, N, K)
        return embedded

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, N, K) -> (B, 1 + N, K), the class token first."""
        return self.seen(embedded + self.positions[1 : 1 + embedded.shape[1]])  # (B, 1 + N, K)

    def seen(self, placed: Tensor) -> Tensor:
        """Tokens at their positions through the blocks, with the class token: (B, M, K) -> (B, 1 + M, K)."""
        first = (self.class_token + self.positions[0]).expand(placed.shape[0], 1, -1)  # (B, 1, K)
        seen: Tensor = self.blocks(torch.cat([first, placed], 1))  # (B, 1 + M, K)
        return seen

    def kept_steps(self, embedded: Tensor, kept: Tensor) -> Tensor:
        """See `Encoder.kept_steps`; the class token goes through the blocks too and is left out of the result."""
        placed = embedded + self.positions[1 : 1 + embedded.shape[1]]  # (B, N, K)
        return self.seen(taken(placed, kept))[:, 1:]  # (B, M, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """The class token after the last block, normalised: (B, S, L) -> (B, K)."""
        token = self.norm(self.steps(self.masked(x, mask))[:, 0])  # (B, K)
        return dropout(token, self.dropout, self.training)  # (B, K)

    @classmethod
    def from_official(cls, state_dict: Mapping[str, Tensor]) -> Encoder:
        """An encoder with the weights of ST-MEM's `ViT`; its sizes follow the tensors, of twelve leads.

        A head has width 64, or 16 where 64 does not divide the width of all heads. Raises ValueError if a tensor is
        missing, unknown or of another shape.
        """
        try:
            named = {name: value for name, value in state_dict.items() if not name.startswith("head.")}
            ours = {our_name(name, OWN_NAMES): value for name, value in named.items()}
            needed = {"positions": "pos_embedding", "input.1.weight": "to_patch_embedding.2.weight"}
            needed |= {"blocks.0.perceptron.1.weight": "block0.ff.fn.net.0.weight"}
            needed |= {"blocks.0.attention.qkv.weight": "block0.attn.fn.to_qkv.weight"}
            if missing := [official for name, official in needed.items() if name not in ours]:
                raise ValueError(f"no tensor {missing[0]}; pass the whole state_dict of the module")
            ours["positions"] = ours["positions"].squeeze(0)  # (1 + N, K)
            encoder = cls(_sizes(ours))
            encoder.load_state_dict(ours, strict=True)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"official vit1d: {' '.join(str(error).split())}") from error
        return encoder


def _sizes(ours: Mapping[str, Tensor]) -> ViT1dConfig:
    """The config of a state dict in the names of `ViT1d`. Raises ValueError where none fits."""
    width, samples = ours["input.1.weight"].shape
    if samples % OFFICIAL_LEADS:
        raise ValueError(f"{OFFICIAL_LEADS} leads do not divide the {samples} samples of a patch")
    patch, (heads, head_width) = samples // OFFICIAL_LEADS, heads_of(ours["blocks.0.attention.qkv.weight"])
    return ViT1dConfig(
        leads=OFFICIAL_LEADS,
        patch=patch,
        length=patch * (len(ours["positions"]) - 1),
        output=width,
        depth=len({name.split(".")[1] for name in ours if name.startswith("blocks.")}),
        heads=heads,
        head_width=head_width,
        hidden=len(ours["blocks.0.perceptron.1.weight"]),
    )
