"""Methods with a momentum copy of encoder and projection head (He et al. 2020, Eq. 2): MoCo, PMQ, BYOL and JEPA.

What learns: encoder, projection head, prediction head. What follows after each step: copies of encoder and projection
head, `target <- m target + (1 - m) online`, where m is constant or rises to 1 with the share of the updates done.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from methods.base import PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.momentum import momentum_copy, update_momentum


class MomentumMethod(PretrainMethod):
    """Online and momentum branch. The config of a subclass has `momentum`, the first one."""

    updates_done: Tensor  # ()
    updates: Tensor  # (), 0 before `begin`

    def __init__(self, encoder: Encoder, config: Any, projection_head: nn.Module, prediction_head: nn.Module) -> None:
        super().__init__(encoder, config)
        self.config = config
        self.projection_head, self.prediction_head = projection_head, prediction_head
        self.momentum_encoder = momentum_copy(encoder)
        self.momentum_projection_head = momentum_copy(projection_head)
        self.register_buffer("updates_done", torch.zeros((), dtype=torch.int64))
        self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    def begin(self, updates: int) -> None:
        """Set the length of a schedule of the momentum; before that the momentum is constant."""
        self.updates.fill_(updates)

    def online(self, x: Tensor) -> Tensor:
        """Prediction from a view: (B, S, L) -> (B, K)."""
        prediction: Tensor = self.prediction_head(self.projection_head(self.encoder.pooled(x, self.mask)))  # (B, K)
        return prediction

    @torch.no_grad()
    def target(self, x: Tensor) -> Tensor:
        """Momentum projection of a view: (B, S, L) -> (B, K)."""
        projection: Tensor = self.momentum_projection_head(self.momentum_encoder.pooled(x, self.mask))  # (B, K)
        return projection

    def after_step(self) -> None:
        """Move the copies (MoCo, Eq. 2)."""
        momentum = self.momentum()
        update_momentum(self.momentum_encoder, self.encoder, momentum)
        update_momentum(self.momentum_projection_head, self.projection_head, momentum)
        self.updates_done += 1

    def momentum(self) -> float | Tensor:
        """Give the momentum of the next move, here a constant; a schedule is a 0-d tensor."""
        momentum: float = self.config.momentum
        return momentum

    def share_done(self) -> Tensor:
        """Share of the updates that are done: 0-d, 0 where their number is not known."""
        return torch.where(self.updates > 0, self.updates_done / self.updates.clamp(min=1), 0.0).clamp(max=1)  # ()
