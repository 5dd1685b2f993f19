"""SimCLR: two masked views of a window attract, those of all other windows in the batch repel (SimCLR, Eq. 1).

The views go through one encoder and a head of two layers; the loss is NT-Xent. Chen et al. 2020.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Positives
from methods.parts.gather import gather_with_gradient
from methods.parts.heads import mlp_head
from methods.parts.losses import two_view_nce, unit_length
from methods.parts.spaces import Temperature
from methods.siamese import Siamese, SiameseConfig


@dataclass(frozen=True)
class SimCLRConfig(SiameseConfig):
    """Knobs of SimCLR."""

    temperature: Temperature = 0.1
    projection_layers: Annotated[int, Field(ge=1)] = 2
    """Layers of the projection head, without normalisation."""


def simclr_loss(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """NT-Xent, mean over the 2B anchors: 0-d (SimCLR, Eq. 1). z1, z2: (B, K), normalised here."""
    return two_view_nce(unit_length(z1), unit_length(z2), temperature)


class SimCLR(Siamese[SimCLRConfig]):
    """Contrastive learning of two augmented views."""

    name: ClassVar[str] = "simclr"
    title: ClassVar[str] = "SimCLR"
    Config: ClassVar[type[MethodConfig]] = SimCLRConfig

    def head(self, width: int) -> nn.Module:
        """Two layers without normalisation, or as many as `projection_layers`."""
        return mlp_head(width, self.config.projection_layers)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """NT-Xent."""
        return simclr_loss(gather_with_gradient(z1), gather_with_gradient(z2), self.config.temperature)

    def positives(self, batch: Batch) -> Positives:
        """The window's other view."""
        return Positives.own_keys(batch.recording)
