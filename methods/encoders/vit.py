"""A vision transformer over time (ViT-1D of ST-MEM, Na et al. 2024; Dosovitskiy et al. 2021).

A token is `patch` consecutive samples of all leads; a class token stands before them. They go through pre-norm blocks
of attention and a two-layer perceptron. `forward` gives the tokens after the last block, the class token first,
S' = S / patch + 1; `pooled` is the normalised class token. A mask acts on the tokens before positions are added,
(B, S / patch, K).
"""

from __future__ import annotations

import math

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import Encoder, EncoderConfig, Size
from methods.parts.layers import Mask, dropout

START = 0.02
"""Deviation of what stands beside the samples at the start: positions and class token (Dosovitskiy et al.)."""


class SelfAttention(nn.Module):
    """Self-attention of several heads after layer normalisation."""

    def __init__(self, width: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * heads * head_width)
        self.out = nn.Linear(heads * head_width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, K) -> (B, N, K)."""
        parts = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1))  # (B, N, 3, heads, D)
        q, k, v = parts.permute(2, 0, 3, 1, 4)  # each (B, heads, N, D)
        weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)  # (B, heads, N, N)
        return self.out((weights @ v).transpose(1, 2).flatten(2))  # (B, N, K)


class TransformerBlock(nn.Module):
    """Attention and a perceptron, each added to its input."""

    def __init__(self, width: int, heads: int, head_width: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads, head_width)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, N, K) -> (B, N, K)."""
        x = x + self.attention(x)  # (B, N, K)
        return x + self.perceptron(x)  # (B, N, K)


@dataclass(frozen=True, kw_only=True)
class ViT1dConfig(EncoderConfig):
    """Sizes; those of ST-MEM's ViT-S but for the patch, which is 75 there and here divides a heartbeat into twelve."""

    patch: Size = 25
    """Samples of a token."""
    length: Size = 2500
    """Samples of the longest window, 10 s at 250 Hz: a position for each token of it."""
    output: Size = 384
    """K, the width of a token."""
    depth: Size = 12
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

    def check_length(self, samples: int) -> None:
        """Raise ValueError for windows that tokens do not make up, and for more tokens than there are positions."""
        if samples % self.patch:
            patch = math.gcd(samples, self.length)
            raise ValueError(
                f"encoder.patch {self.patch} does not divide them; set encoder.patch to a divisor of {patch}"
            )
        if samples > self.length:
            raise ValueError(f"encoder.length is {self.length}; set encoder.length={samples}")

    @classmethod
    def small(cls) -> ViT1dConfig:
        """Return two blocks of width 16 over tokens of two samples."""
        return cls(patch=2, length=300, output=16, depth=2, heads=2, head_width=8, hidden=32)


class ViT1d(Encoder):
    """ECG windows -> a class token and tokens in the order of time."""

    name, Config = "vit1d", ViT1dConfig
    pooling = "the class token after the last block, normalised"
    pooled_only = ("norm.weight", "norm.bias")
    config: ViT1dConfig

    def __init__(self, config: ViT1dConfig | None = None) -> None:
        super().__init__(config)
        sizes, width = self.config, self.config.output
        samples = sizes.patch * sizes.leads
        self.input = nn.Sequential(nn.LayerNorm(samples), nn.Linear(samples, width), nn.LayerNorm(width))
        self.positions = nn.Parameter(START * torch.randn(1 + sizes.length // sizes.patch, width))  # (1 + N, K)
        self.class_token = nn.Parameter(START * torch.randn(width))  # (K,)
        blocks = [TransformerBlock(width, sizes.heads, sizes.head_width, sizes.hidden) for _ in range(sizes.depth)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(width)

    def patches(self, x: Tensor) -> Tensor:
        """Return the samples of each token, sample by sample: (B, S, L) -> (B, S / patch, patch * L)."""
        return x.reshape(x.shape[0], x.shape[1] // self.config.patch, -1)  # (B, N, P)

    def embed(self, x: Tensor) -> Tensor:
        """Make tokens without positions: (B, S, L) -> (B, N, K)."""
        return self.input(self.patches(x))  # (B, N, K)

    def steps(self, embedded: Tensor) -> Tensor:
        """Map (B, N, K) -> (B, 1 + N, K), the class token first."""
        return self.encode(self.add_positions(embedded))  # (B, 1 + N, K)

    def add_positions(self, embedded: Tensor) -> Tensor:
        """Add their positions to tokens: (B, N, K) -> (B, N, K)."""
        return embedded + self.positions[1 : 1 + embedded.shape[1]]  # (B, N, K)

    def encode(self, tokens: Tensor) -> Tensor:
        """Pass tokens with positions through the blocks, behind the class token: (B, M, K) -> (B, 1 + M, K)."""
        first = (self.class_token + self.positions[0]).expand(tokens.shape[0], 1, -1)  # (B, 1, K)
        return self.blocks(torch.cat([first, tokens], 1))  # (B, 1 + M, K)

    def encode_tokens(self, embedded: Tensor, visible: Tensor) -> Tensor:
        """See `Encoder.encode_tokens`; the class token goes through the blocks too and is not in the result."""
        tokens = self.add_positions(embedded)  # (B, N, K)
        tokens = tokens.gather(1, visible[..., None].expand(-1, -1, tokens.shape[2]))  # (B, M, K)
        return self.encode(tokens)[:, 1:]  # (B, M, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Return the class token, normalised: (B, S, L) -> (B, K)."""
        token = self.norm(self.steps(self.masked(x, mask))[:, 0])  # (B, K)
        return dropout(token, self.dropout, self.training)  # (B, K)
