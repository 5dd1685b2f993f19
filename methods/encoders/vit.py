"""A vision transformer over time (ViT-1D of ST-MEM, Na et al. 2024; Dosovitskiy et al. 2021).

A token is `patch` consecutive samples of all leads; a class token stands before them. They go through pre-norm blocks
of attention and a two-layer perceptron. `forward` gives the tokens after the last block, the class token first,
S' = S / patch + 1; `pooled` is the normalised class token. A mask acts on the tokens before positions are added,
(B, S / patch, K).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size
from methods.parts.masks import Mask, dropout

START = 0.02
"""Deviation of what stands beside the samples at the start: positions and class token (Dosovitskiy et al.)."""


class Attention(nn.Module):
    """Self-attention of several heads after layer normalisation."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * heads * head_width)
        self.out = nn.Linear(heads * head_width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, K) -> (B, N, K)."""
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1))  # (B, N, 3, heads, D)
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, N, D)
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)  # (B, heads, N, N)
        out: Tensor = self.out((weights @ v).transpose(1, 2).flatten(2))  # (B, N, K)
        return out


class Block(nn.Module):
    """Attention and a perceptron, each added to its input."""

    def __init__(self, width: int, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads, head_width)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, K) -> (B, N, K)."""
        x = x + self.attention(x)  # (B, N, K)
        added: Tensor = x + self.perceptron(x)  # (B, N, K)
        return added


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ViT1dConfig(EncoderConfig):
    """Sizes; those of ST-MEM's ViT-S but for the patch, which is 75 there and here divides a heartbeat into twelve."""

    patch: Size = 25
    """Samples of a token."""
    length: Size = 2500
    """Samples of the longest window, 10 s at 250 Hz: a position for each token of it."""
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


HEADS = (64, 16)
"""Widths of a head in ST-MEM's modules, of which its tensors tell nothing."""
OFFICIAL_LEADS = 12
"""Leads of the official module, of which its tensors tell nothing."""
OWN_NAMES = {"pos_embedding": "positions", "cls_embedding": "class_token"}
OWN_NAMES |= {name: name for name in ("norm.weight", "norm.bias")}
"""Names of official tensors outside blocks and patch embedding -> ours."""
NEEDED = {
    "positions": "pos_embedding",
    "input.1.weight": "to_patch_embedding.2.weight",
    "blocks.0.perceptron.1.weight": "block0.ff.fn.net.0.weight",
    "blocks.0.attention.qkv.weight": "block0.attn.fn.to_qkv.weight",
}
"""Our name -> the official one, of the tensors that sizes follow from."""
PARTS = {
    "attn.norm": "attention.norm",
    "attn.fn.to_qkv": "attention.qkv",
    "attn.fn.to_out.0": "attention.out",
    "ff.norm": "perceptron.0",
    "ff.fn.net.0": "perceptron.1",
    "ff.fn.net.3": "perceptron.3",
}
"""Official name of a part of a block -> ours."""
INPUT = re.compile(r"to_patch_embedding\.([123])\.(weight|bias)")
BLOCK = re.compile(r"block(\d+)\.(.+)\.(weight|bias)")


def renamed(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of ST-MEM's `ViT` under our names, positions (N, K), without the head.

    Raises ValueError for an unknown tensor, and where one is missing that sizes follow from.
    """
    ours = {our_name(name): value for name, value in state_dict.items() if not name.startswith("head.")}
    for name, official in NEEDED.items():
        if name not in ours:
            raise ValueError(f"no tensor {official}; pass the whole state_dict of the module")
    return ours | {"positions": ours["positions"].squeeze(0)}


def our_name(official: str) -> str:
    """Our name of a tensor. Raises ValueError for an unknown one."""
    if official in OWN_NAMES:
        return OWN_NAMES[official]
    if match := INPUT.fullmatch(official):
        return f"input.{int(match[1]) - 1}.{match[2]}"
    if (match := BLOCK.fullmatch(official)) and match[2] in PARTS:
        return f"blocks.{match[1]}.{PARTS[match[2]]}.{match[3]}"
    raise ValueError(f"unknown tensor {official!r}; pass the state_dict of the module alone")


def sizes_of(ours: Mapping[str, Tensor]) -> dict[str, Any]:
    """Sizes as a `ViT1dConfig` has them, of twelve leads, from tensors under our names.

    Raises ValueError where the leads do not divide a token, and for no heads.
    """
    samples = ours["input.1.weight"].shape[1]
    if samples % OFFICIAL_LEADS:
        raise ValueError(f"{OFFICIAL_LEADS} leads do not divide the {samples} samples of a patch")
    patch = samples // OFFICIAL_LEADS
    heads, head_width = heads_of(ours["blocks.0.attention.qkv.weight"])
    return {
        "leads": OFFICIAL_LEADS,
        "patch": patch,
        "length": patch * (len(ours["positions"]) - 1),
        "output": len(ours["input.1.weight"]),
        "depth": len({name.split(".")[1] for name in ours if name.startswith("blocks.")}),
        "heads": heads,
        "head_width": head_width,
        "hidden": len(ours["blocks.0.perceptron.1.weight"]),
    }


def heads_of(qkv: Tensor) -> tuple[int, int]:
    """Heads and their width of an official `to_qkv`, (3 * heads * width, K): 64 wide, or 16 where 64 does not divide.

    Raises ValueError where neither does.
    """
    inside = len(qkv) // 3
    for width in HEADS:
        if inside % width == 0:
            return inside // width, width
    raise ValueError(f"no heads of width {' or '.join(map(str, HEADS))} make up {inside}")


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
        sizes, width = self.config, self.config.output
        samples = sizes.patch * sizes.leads
        self.input = nn.Sequential(nn.LayerNorm(samples), nn.Linear(samples, width), nn.LayerNorm(width))
        self.positions = nn.Parameter(START * torch.randn(1 + sizes.length // sizes.patch, width))  # (1 + N, K)
        self.class_token = nn.Parameter(START * torch.randn(width))  # (K,)
        blocks = [Block(width, sizes.heads, sizes.head_width, sizes.hidden) for _ in range(sizes.depth)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(width)

    def patches(self, x: Tensor) -> Tensor:
        """Samples of each token, sample by sample: (B, S, L) -> (B, S / patch, patch * L).

        Raises ValueError for windows that `unfit` names.
        """
        if why := self.config.unfit(x.shape[1]):
            raise ValueError(f"encoder {self.name} cannot take windows of {x.shape[1]} samples: {why}")
        return x.reshape(x.shape[0], x.shape[1] // self.config.patch, -1)  # (B, N, P)

    def embed(self, x: Tensor) -> Tensor:
        """Tokens without positions: (B, S, L) -> (B, N, K)."""
        embedded: Tensor = self.input(self.patches(x))  # (B, N, K)
        return embedded

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
        placed = self.placed(embedded)  # (B, N, K)
        visible = placed.gather(1, kept[..., None].expand(-1, -1, placed.shape[2]))  # (B, M, K)
        return self.seen(visible)[:, 1:]  # (B, M, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """The class token, normalised: (B, S, L) -> (B, K)."""
        token = self.norm(self.steps(self.masked(x, mask))[:, 0])  # (B, K)
        return dropout(token, self.dropout, self.training)  # (B, K)

    @classmethod
    def from_official(cls, state_dict: Mapping[str, Tensor]) -> Encoder:
        """See `Encoder.from_official`; the sizes follow the tensors. A head has width 64, or 16 where 64 does not fit.

        Raises ValueError if a tensor is missing, unknown or of another shape.
        """
        try:
            ours = renamed(state_dict)
            encoder = cls(ViT1dConfig(**sizes_of(ours)))
            encoder.load_state_dict(ours, strict=True)
        except (RuntimeError, KeyError, ValueError) as error:
            raise ValueError(f"official {cls.name}: {' '.join(str(error).split())}") from error
        return encoder
