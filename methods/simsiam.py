"""SimSiam: a masked view predicts the other's projection, which gets no gradient (Chen & He 2021, Eq. 2 and 4)."""

from __future__ import annotations

from torch import Tensor, nn

from methods.encoders.base import Encoder
from methods.parts.heads import batch_norm_head
from methods.parts.losses import unit_length
from methods.siamese import Siamese, SiameseConfig


def simsiam_loss(p1: Tensor, z1: Tensor, p2: Tensor, z2: Tensor) -> Tensor:
    """Negative cosine of predictions and the other view's projections, both directions: (B, K) each -> 0-d."""
    z1, z2 = unit_length(z1.detach()), unit_length(z2.detach())  # (B, K), (B, K)
    return -((unit_length(p1) * z2).sum(1).mean() + (unit_length(p2) * z1).sum(1).mean()) / 2


class SimSiam(Siamese[SiameseConfig]):
    """Siamese representation learning without negatives, momentum or queue."""

    name, title = "simsiam", "SimSiam"

    def __init__(self, encoder: Encoder, config: SiameseConfig) -> None:
        super().__init__(encoder, config)
        self.prediction = batch_norm_head(encoder.config.output, layers=2)[:-1]

    def head(self, width: int) -> nn.Module:
        """Three layers, batch normalisation after each."""
        return batch_norm_head(width, layers=3)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Of two projections, (B, K) each: 0-d."""
        return simsiam_loss(self.prediction(z1), z1, self.prediction(z2), z2)
