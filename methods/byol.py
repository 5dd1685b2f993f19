"""BYOL with PMQ's views, masks and heads: predict the other view's projection, without negatives (BYOL, Eq. 2).

Online: encoder, projection, prediction. Target: momentum copies of encoder and projection. Both views pass through both
branches. Grill et al. 2020.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.knobs import FrequencyMask, Momentum, TimeMask
from methods.parts.losses import unit_length
from methods.parts.masks import frequency_then_time
from methods.parts.momentum import batch_norm_head, momentum_copy, update_momentum


@dataclass(frozen=True)
class BYOLConfig(MethodConfig):
    """Knobs of BYOL; views, masks and heads are those of PMQ."""

    momentum: Momentum = 0.996
    """Momentum of the target at the start of training."""
    momentum_schedule: Literal["cosine", "constant"] = "cosine"
    """cosine: from `momentum` to 1 at the end of training; constant: `momentum` throughout."""
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1
    projection_layers: Annotated[int, Field(ge=1)] = 3
    """Layers of online and target projection."""
    prediction_layers: Annotated[int, Field(ge=1)] = 2
    """Layers of the online branch's prediction."""


def byol_loss(p: Tensor, z: Tensor) -> Tensor:
    """2 - 2 cos(p_i, z_i), mean over the batch: 0-d (BYOL, Eq. 2). p: (B, K) predictions; z: (B, K) targets."""
    return 2 - 2 * (unit_length(p) * unit_length(z)).sum(1).mean()


def cosine_momentum(start: float, share_done: Tensor) -> Tensor:
    """Momentum at a share of the training done: 0-d, from `start` at 0 to 1 at 1 (BYOL, "Implementation details")."""
    return 1 - (1 - start) * (torch.cos(math.pi * share_done) + 1) / 2


class BYOL(PretrainMethod):
    """Bootstrap your own latent."""

    name: ClassVar[str] = "byol"
    title: ClassVar[str] = "BYOL"
    Config: ClassVar[type[MethodConfig]] = BYOLConfig
    version: ClassVar[int] = 2
    encoder_passes: ClassVar[float] = 8.0

    updates_done: Tensor  # ()
    updates: Tensor  # (), 0 before `begin`

    def __init__(self, encoder: Encoder, config: BYOLConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.config = config
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection = batch_norm_head(width, config.projection_layers)
        self.prediction = batch_norm_head(width, config.prediction_layers)
        self.target_encoder = momentum_copy(encoder)
        self.target_projection = momentum_copy(self.projection)
        self.register_buffer("updates_done", torch.zeros((), dtype=torch.int64))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def begin(self, updates: int) -> None:
        """Set the length of the momentum's schedule; before that the momentum is constant."""
        self.updates.fill_(updates)

    def forward(self, batch: Batch) -> Tensor:
        """Mean of `byol_loss` over both directions: 0-d."""
        p1, p2 = self.online(batch.x1), self.online(batch.x2)  # (B, K), (B, K)
        with torch.no_grad():
            z1, z2 = self.target(batch.x1), self.target(batch.x2)  # (B, K), (B, K)
        return (byol_loss(p1, z2) + byol_loss(p2, z1)) / 2

    def online(self, x: Tensor) -> Tensor:
        """Prediction of the target's projection of the other view: (B, S, L) -> (B, K)."""
        prediction: Tensor = self.prediction(self.projection(self.encoder.pooled(x, self.mask)))  # (B, K)
        return prediction

    def target(self, x: Tensor) -> Tensor:
        """Target projection of a view: (B, S, L) -> (B, K)."""
        projection: Tensor = self.target_projection(self.target_encoder.pooled(x, self.mask))  # (B, K)
        return projection

    def after_step(self) -> None:
        """Momentum update of the target branch (BYOL, Eq. 1)."""
        momentum = self.momentum()
        update_momentum(self.target_encoder, self.encoder, momentum)
        update_momentum(self.target_projection, self.projection, momentum)
        self.updates_done += 1

    def momentum(self) -> float | Tensor:
        """Momentum of the next update of the target."""
        if self.config.momentum_schedule == "constant":
            return self.config.momentum
        share_done = torch.where(self.updates > 0, self.updates_done / self.updates.clamp(min=1), 0.0)  # ()
        return cosine_momentum(self.config.momentum, share_done.clamp(max=1))
