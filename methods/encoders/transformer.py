"""Pre-norm transformer blocks (Vaswani et al. 2017; Dosovitskiy et al. 2021), shared by the encoders of tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor, nn

START = 0.02
"""Deviation of what stands beside the samples at the start: positions, class token, separators (Dosovitskiy et al.)."""
OFFICIAL_HEADS = (64, 16)
"""Widths of a head in ST-MEM's modules, of which its tensors tell nothing."""


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


def heads_of(qkv: Tensor) -> tuple[int, int]:
    """Heads and their width of an official `to_qkv`, (3 * heads * width, K): 64 wide, or 16 where 64 does not divide.

    Raises ValueError where neither does.
    """
    inside = len(qkv) // 3
    for width in OFFICIAL_HEADS:
        if inside % width == 0:
            return inside // width, width
    raise ValueError(f"no heads of width {' or '.join(map(str, OFFICIAL_HEADS))} make up {inside}")


_PARTS = {"attn.norm": "attention.norm", "attn.fn.to_qkv": "attention.qkv", "attn.fn.to_out.0": "attention.out"}
_PARTS |= {"ff.norm": "perceptron.0", "ff.fn.net.0": "perceptron.1", "ff.fn.net.3": "perceptron.3"}
_INPUT = re.compile(r"to_patch_embedding\.([123])\.(weight|bias)")
_BLOCK = re.compile(r"block(\d+)\.(.+)\.(weight|bias)")


def our_name(official: str, own: Mapping[str, str]) -> str:
    """Our name of a tensor of ST-MEM's modules; `own`: the names of those outside blocks and patch embedding.

    Raises ValueError for an unknown one.
    """
    if official in own:
        return own[official]
    if match := _INPUT.fullmatch(official):
        return f"input.{int(match[1]) - 1}.{match[2]}"
    if (match := _BLOCK.fullmatch(official)) and match[2] in _PARTS:
        return f"blocks.{match[1]}.{_PARTS[match[2]]}.{match[3]}"
    raise ValueError(f"unknown tensor {official!r}; pass the state_dict of the module alone")
