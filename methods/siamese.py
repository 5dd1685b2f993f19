"""What SimCLR, VICReg, Barlow Twins and SimSiam share: two masked views of a window, one encoder, one head.

A loss of the two projections is all that a method of this kind adds. PMQ's masks stand for the papers' augmentations.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.heads import batch_norm_head
from methods.parts.masks import frequency_then_time
from methods.parts.spaces import FrequencyMask, TimeMask


@dataclass(frozen=True)
class SiameseConfig(MethodConfig):
    """Knobs of two masked views of a window."""

    pairing: Pairing = "same"
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1


C = TypeVar("C", bound=SiameseConfig)


class Siamese(PretrainMethod, Generic[C]):
    """Projections of two views; subclasses define `loss`, and another head than that of VICReg and Barlow Twins."""

    Config: ClassVar[type[MethodConfig]] = SiameseConfig
    encoder_passes: ClassVar[float] = 6.0

    def __init__(self, encoder: Encoder, config: C) -> None:
        super().__init__(encoder, config)
        self.config = config
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection = self.head(encoder.config.output)

    def head(self, width: int) -> nn.Module:
        """The projection, (B, K) -> (B, K): three layers, batch normalisation after all but the last."""
        return batch_norm_head(width, layers=3)[:-1]

    def forward(self, batch: Batch) -> Tensor:
        """The loss of the projections of both views."""
        z1, z2 = (self.projection(self.encoder.pooled(x, self.mask)).float() for x in (batch.x1, batch.x2))  # (B, K)
        with torch.autocast(z1.device.type, enabled=False):
            return self.loss(z1, z2)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """The loss of two views' projections, (B, K) each, in float32: 0-d."""
        raise NotImplementedError(f"{type(self).__name__}.loss: give the loss of two projections (B, K)")
