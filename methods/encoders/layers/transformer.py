"""Pre-norm transformer blocks (Vaswani et al. 2017; Dosovitskiy et al. 2021), shared by the encoders of tokens."""

from __future__ import annotations

from torch import Tensor, nn

START = 0.02
"""Deviation of what stands beside the samples at the start: positions, class token, separators (Dosovitskiy et al.)."""


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


def taken(tokens: Tensor, kept: Tensor) -> Tensor:
    """The tokens of some indices: (B, N, K), (B, M) int64 -> (B, M, K)."""
    return tokens.gather(1, kept[..., None].expand(-1, -1, tokens.shape[2]))  # (B, M, K)
