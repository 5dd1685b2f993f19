"""Alignment and uniformity: two heartbeats attract, and windows spread over the sphere. The example of docs/METHODS.md.

Wang & Isola 2020, "Understanding Contrastive Representation Learning through Alignment and Uniformity on the
Hypersphere", section 4.1 with alpha = 2 and t = 2.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.layers import mlp_head
from methods.parts.losses import unit_length


@dataclass(frozen=True)
class AlignUniformConfig(MethodConfig):
    """Hyperparameters of the method; pairing, batching and recipe are inherited."""

    alignment: Annotated[float, Field(ge=0)] = 1.0
    uniformity: Annotated[float, Field(ge=0)] = 1.0
    layers: Annotated[int, Field(ge=1)] = 2
    """Layers of the projection."""


def alignment_loss(z1: Tensor, z2: Tensor) -> Tensor:
    """Mean squared distance of the views: (B, K), (B, K) of unit length -> 0-d."""
    return (z1 - z2).square().sum(1).mean()


def uniformity_loss(z: Tensor) -> Tensor:
    """log of the mean of exp(-2 d^2) over pairs of different windows, B >= 2: (B, K) of unit length -> 0-d."""
    row, column = torch.triu_indices(len(z), len(z), 1, device=z.device)  # (pairs,), (pairs,)
    distance = (z[row] - z[column]).square().sum(1)  # (pairs,)
    return (-2 * distance).exp().mean().log()


class AlignUniform(PretrainMethod):
    """Alignment and uniformity of the projections of two neighbouring heartbeats."""

    name: ClassVar[str] = "align-uniform"
    title: ClassVar[str] = "Align + uniform"
    Config: ClassVar[type[MethodConfig]] = AlignUniformConfig
    encoder_passes: ClassVar[float] = 6.0

    def __init__(self, encoder: Encoder, config: AlignUniformConfig) -> None:
        super().__init__(encoder, config)
        self.config = config
        self.projection = mlp_head(encoder.config.output, config.layers)

    def forward(self, batch: Batch) -> Tensor:
        """The weighted sum of both terms."""
        z1, z2 = (unit_length(self.projection(self.encoder.pooled(x))) for x in (batch.x1, batch.x2))  # (B, K)
        spread = (uniformity_loss(z1) + uniformity_loss(z2)) / 2
        return self.config.alignment * alignment_loss(z1, z2) + self.config.uniformity * spread
