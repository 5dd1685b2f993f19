"""MAE: encode a quarter of a window's tokens and reconstruct the samples of the others (He et al. 2022; ST-MEM).

Only the visible tokens go through the encoder; a small transformer decodes them and mask tokens at their positions.
The loss is the squared error per patch, mean over the hidden patches. Na et al. 2024 (ST-MEM), section 3.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder, refuse_single, width_of
from methods.parts.hyperparameters import Choice, Count, Share
from methods.parts.layers import dropout


@dataclass(frozen=True)
class MAEConfig(MethodConfig):
    """Hyperparameters of MAE; the defaults are ST-MEM's."""

    pairing: Pairing = "same"
    mask_ratio: Annotated[Share, Choice((0.5, 0.6, 0.75, 0.85))] = 0.75
    """Share of the tokens hidden; at least one is hidden and one visible."""
    normalise: bool = True
    """Reconstruct each patch with mean 0 and variance 1."""
    decoder_width: Annotated[int, Field(ge=4, multiple_of=4)] = 256
    """Width of the decoder's tokens."""
    decoder_depth: Count = 4
    """Blocks, each of four heads."""
    recipe: Recipe = Recipe(lr=1.5e-4)


def reconstruction_loss(prediction: Tensor, patches: Tensor, mask: Tensor, normalise: bool) -> Tensor:
    """Compute the mean squared error of each patch, mean over the hidden ones: 0-d.

    prediction, patches: (..., N, P); mask: (..., N), 1 or True where hidden. normalise: patches get mean 0 and
    (unbiased) variance 1 first.
    """
    precision = torch.promote_types(prediction.dtype, torch.float32)
    target = patches.to(precision)
    hidden = mask.to(precision)
    if normalise:
        target = (target - target.mean(-1, keepdim=True)) / (target.var(-1, keepdim=True) + 1e-6).sqrt()
    error = (prediction.to(precision) - target).square().mean(-1)  # (..., N)
    return (error * hidden).sum() / hidden.sum()


def positions(tokens: int, width: int, device: torch.device) -> Tensor:
    """Compute sine and cosine of each token's place at width / 2 rates: (N, width)."""
    rate = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10_000.0) / width))  # (width / 2,)
    angle = torch.arange(tokens, device=device)[:, None] * rate  # (N, width / 2)
    return torch.cat([angle.sin(), angle.cos()], 1)  # (N, width)


def visible_tokens(count: int, tokens: int, hidden: float, device: torch.device) -> Tensor:
    """Draw indices of random tokens of each window, of which at least one is visible and one hidden: (B, M)."""
    number = min(max(1, int(tokens * (1 - hidden))), tokens - 1)
    return torch.rand(count, tokens, device=device).argsort(1)[:, :number]  # (B, M)


class MAE(PretrainMethod):
    """Masked autoencoder."""

    name, title, Config = "mae", "MAE", MAEConfig
    version = 2
    encoder_passes = 1.5  # a quarter of the tokens forth and back, and the decoder

    def __init__(self, encoder: Encoder, config: MAEConfig) -> None:
        super().__init__(encoder, config)
        width = config.decoder_width
        block = partial(nn.TransformerEncoderLayer, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.decoder_input = nn.Linear(encoder.config.output, width)
        self.mask_token = nn.Parameter(0.02 * torch.randn(width))
        self.decoder = nn.Sequential(
            *[block(width, 4, 4 * width) for _ in range(config.decoder_depth)], nn.LayerNorm(width)
        )
        self.reconstruction = nn.Linear(width, width_of(encoder, encoder.patches))

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss on the hidden patches. Raises ValueError if a window is a single token."""
        embedded = self.encoder.embed(batch.x1)  # (B, N, D)
        count, tokens, _ = embedded.shape
        refuse_single(self.name, tokens)
        visible = visible_tokens(count, tokens, self.config.mask_ratio, embedded.device)  # (B, M)
        hidden = torch.ones(count, tokens, device=embedded.device).scatter(1, visible, 0.0)  # (B, N)
        steps = dropout(self.encoder.encode_tokens(embedded, visible), self.encoder.dropout, self.training)  # (B, M, K)
        prediction = self.decode(steps, visible, tokens)  # (B, N, P)
        return reconstruction_loss(prediction, self.encoder.patches(batch.x1), hidden, self.config.normalise)

    def decode(self, steps: Tensor, visible: Tensor, tokens: int) -> Tensor:
        """Compute the samples of all N tokens from the outputs of the visible ones: (B, M, K), (B, M) -> (B, N, P)."""
        seen = self.decoder_input(steps).to(self.mask_token.dtype)  # (B, M, W)
        empty = self.mask_token.expand(len(steps), tokens, -1)  # (B, N, W)
        filled = empty.scatter(1, visible.unsqueeze(2).expand_as(seen), seen)  # (B, N, W)
        placed = filled + positions(tokens, filled.shape[2], filled.device)  # (B, N, W)
        return self.reconstruction(self.decoder(placed))  # (B, N, P)
