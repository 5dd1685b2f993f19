"""What the encoders of tokens share (ViT-1D and the encoder of ST-MEM, Na et al. 2024; Dosovitskiy et al. 2021).

A token is `patch` consecutive samples, embedded; learned tokens stand beside those of a window. All go through pre-norm
blocks of attention and a two-layer perceptron. An encoder defines which samples a token has (`cut`), the places of the
tokens and what stands beside them (`steps`, `kept_steps`), and which representation is that of a window (`summary`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder, EncoderConfig, Size
from methods.encoders.layers.transformer import Block
from methods.parts.dropout import dropout
from methods.parts.masks import Mask


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TokenConfig(EncoderConfig):
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


def patch_embedding(samples: int, width: int) -> nn.Sequential:
    """The samples of a token -> its embedding: (B, N, P) -> (B, N, K)."""
    return nn.Sequential(nn.LayerNorm(samples), nn.Linear(samples, width), nn.LayerNorm(width))


def blocks_of(config: TokenConfig) -> nn.Sequential:
    """The blocks of an encoder: (B, N, K) -> (B, N, K)."""
    sizes = config.heads, config.head_width, config.hidden
    return nn.Sequential(*[Block(config.output, *sizes) for _ in range(config.depth)])


class TokenEncoder(Encoder):
    """An encoder of tokens, with `input` (`patch_embedding`), `blocks` (`blocks_of`) and `norm`."""

    of_pooled: ClassVar[tuple[str, ...]] = ("norm.weight", "norm.bias")
    tokens: ClassVar[bool] = True
    config: TokenConfig
    input: nn.Sequential
    blocks: nn.Sequential
    norm: nn.LayerNorm

    def cut(self, x: Tensor) -> Tensor:
        """Samples of each token of windows that patches make up: (B, S, L) -> (B, N, P)."""
        raise NotImplementedError(f"{type(self).__name__}.cut: give the samples of each token (B, N, P)")

    def summary(self, steps: Tensor) -> Tensor:
        """The representation of a window among, or from, those of `steps`: (B, S', K) -> (B, K)."""
        raise NotImplementedError(f"{type(self).__name__}.summary: give the representation of a window (B, K)")

    def patches(self, x: Tensor) -> Tensor:
        """See `Encoder.patches`. Raises ValueError for windows that `unfit` names."""
        if why := self.config.unfit(x.shape[1]):
            raise ValueError(f"encoder {self.name} cannot take windows of {x.shape[1]} samples: {why}")
        return self.cut(x)  # (B, N, P)

    def embed(self, x: Tensor) -> Tensor:
        """Tokens without positions: (B, S, L) -> (B, N, K)."""
        embedded: Tensor = self.input(self.patches(x))  # (B, N, K)
        return embedded

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """The representation of a window, normalised: (B, S, L) -> (B, K)."""
        token = self.norm(self.summary(self.steps(self.masked(x, mask))))  # (B, K)
        return dropout(token, self.dropout, self.training)  # (B, K)

    @classmethod
    def ours(cls, state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of the official module under our names. Raises ValueError or KeyError for any others."""
        raise ValueError(f"there is no official module of {len(state_dict)} tensors")

    @classmethod
    def sizes(cls, ours: Mapping[str, Tensor]) -> dict[str, Any]:
        """The sizes that follow from tensors under our names. Raises ValueError where none do."""
        raise NotImplementedError(f"{cls.__name__}.sizes: give the sizes of the official tensors")

    @classmethod
    def from_official(cls, state_dict: Mapping[str, Tensor]) -> Encoder:
        """See `Encoder.from_official`; the sizes follow the tensors. A head has width 64, or 16 where 64 does not fit.

        Raises ValueError if a tensor is missing, unknown or of another shape.
        """
        try:
            ours = cls.ours(state_dict)
            encoder = cls(cls.Config(**cls.sizes(ours)))
            encoder.load_state_dict(ours, strict=True)
        except (RuntimeError, KeyError, ValueError) as error:
            raise ValueError(f"official {cls.name}: {' '.join(str(error).split())}") from error
        return encoder
