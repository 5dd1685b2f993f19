"""BYOL with PMQ's views, masks and heads: predict the other view's projection, without negatives (BYOL, Eq. 2).

Online: encoder, projection head, prediction head. Target: momentum copies of encoder and projection head, whose
momentum rises to 1. Both views pass through both branches. Grill et al. 2020.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig
from methods.encoders.base import Encoder
from methods.momentum import MomentumMethod
from methods.parts.hyperparameters import Count, FrequencyMask, Momentum, TimeMask
from methods.parts.layers import batch_norm_head, frequency_then_time
from methods.parts.losses import unit_length


@dataclass(frozen=True)
class BYOLConfig(MethodConfig):
    """Hyperparameters of BYOL; views, masks and heads are those of PMQ."""

    momentum: Momentum = 0.996
    """Momentum of the target at the start of training."""
    momentum_schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: from `momentum` to 1 at the end of training; constant: `momentum` throughout."""
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1
    projection_layers: Count = 3
    """Layers of online and target projection."""
    prediction_layers: Count = 2
    """Layers of the online branch's prediction."""


def byol_loss(p: Tensor, z: Tensor) -> Tensor:
    """Compute 2 - 2 cos(p_i, z_i), mean over the batch: 0-d (BYOL, Eq. 2). p, z: (B, K) predictions and targets."""
    return 2 - 2 * (unit_length(p) * unit_length(z)).sum(1).mean()


class BYOL(MomentumMethod):
    """Bootstrap your own latent."""

    name, title, Config = "byol", "BYOL", BYOLConfig
    version = 2
    encoder_passes = 8.0

    def __init__(self, encoder: Encoder, config: BYOLConfig) -> None:
        width = encoder.config.output
        projection_head = batch_norm_head(width, config.projection_layers)
        super().__init__(encoder, config, projection_head, batch_norm_head(width, config.prediction_layers))
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the mean of `byol_loss` over both directions: 0-d."""
        p1 = self.online(batch.x1)  # (B, K)
        p2 = self.online(batch.x2)  # (B, K)
        z1 = self.target(batch.x1)  # (B, K)
        z2 = self.target(batch.x2)  # (B, K)
        return (byol_loss(p1, z2) + byol_loss(p2, z1)) / 2

    def momentum(self) -> float | Tensor:
        """Give the momentum of the next move: from `momentum` to 1 along a cosine, or constant (BYOL, section 3.2)."""
        if self.config.momentum_schedule == "constant":
            return super().momentum()
        return 1 - (1 - self.config.momentum) * (torch.cos(math.pi * self.share_done()) + 1) / 2
