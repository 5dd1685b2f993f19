"""Methods of two views, one head and a loss each: SimCLR, VICReg, Barlow Twins, SimSiam; Random, which trains nothing.

A method of this kind adds the loss of two projections alone. PMQ's masks stand for the papers' augmentations.

    SimCLR         two masked views of a window attract, those of all other windows in the batch repel: NT-Xent after a
                   head of two layers (Chen et al. 2020, Eq. 1)
    VICReg         two masked views attract (squared distance), no feature may collapse (a hinge on its standard
                   deviation) or repeat another one (squared covariances) (Bardes et al. 2022, Eq. 1 to 6)
    Barlow Twins   the features of two masked views correlate with themselves alone (Zbontar et al. 2021, Eq. 1)
    SimSiam        a masked view predicts the other's projection, which gets no gradient (Chen & He 2021, Eq. 2 and 4)
    Random         the encoder stays as the seed drew it: the baseline that every pretraining has to pass
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.hyperparameters import Count, FrequencyMask, Log, Temperature, TimeMask
from methods.parts.layers import batch_norm_head, frequency_then_time, mlp_head
from methods.parts.losses import nt_xent, unit_length


@dataclass(frozen=True)
class SiameseConfig(MethodConfig):
    """Hyperparameters of two masked views of a window."""

    pairing: Pairing = "same"
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1


class Siamese(PretrainMethod):
    """Projections of two views; subclasses define `loss`, and another head than that of VICReg and Barlow Twins."""

    Config: ClassVar[type[MethodConfig]] = SiameseConfig
    encoder_passes = 6.0

    def __init__(self, encoder: Encoder, config: Any) -> None:
        super().__init__(encoder, config)
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection_head = self.head(encoder.config.output)

    def head(self, width: int) -> nn.Module:
        """Make the projection, (B, K) -> (B, K): three layers, batch normalisation after all but the last."""
        return batch_norm_head(width, layers=3)[:-1]

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of the projections of both views."""
        z = [self.projection_head(self.encoder.pooled(x, self.mask)).float() for x in (batch.x1, batch.x2)]  # (B, K)
        with torch.autocast(batch.x1.device.type, enabled=False):
            return self.loss(*z)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Compute the loss of two views' projections, (B, K) each, in float32: 0-d."""
        raise NotImplementedError


@dataclass(frozen=True)
class SimCLRConfig(SiameseConfig):
    """Hyperparameters of SimCLR."""

    temperature: Temperature = 0.1
    projection_layers: Count = 2
    """Layers of the projection head, without normalisation."""


simclr_loss = nt_xent
"""NT-Xent, mean over the 2B anchors (SimCLR, Eq. 1); z1, z2: (B, K), normalised there."""


class SimCLR(Siamese):
    """Contrastive learning of two augmented views."""

    name, title, Config = "simclr", "SimCLR", SimCLRConfig

    def head(self, width: int) -> nn.Module:
        """Make two layers without normalisation, or as many as `projection_layers`."""
        return mlp_head(width, self.config.projection_layers)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Compute NT-Xent of the two views."""
        return simclr_loss(z1, z2, self.config.temperature)


Weight = Annotated[float, Field(ge=0), Log(1.0, 50.0)]
"""Weight of a term; 0 leaves it out."""


@dataclass(frozen=True)
class VICRegConfig(SiameseConfig):
    """Hyperparameters of VICReg; the weights are the paper's."""

    invariance: Weight = 25.0
    variance: Weight = 25.0
    covariance: Annotated[float, Field(ge=0), Log(0.1, 10.0)] = 1.0
    """Weight of the third term."""


def vicreg_loss(z1: Tensor, z2: Tensor, invariance: float, variance: float, covariance: float) -> Tensor:
    """Compute the weighted sum of the three terms: 0-d (VICReg, Eq. 6). z1, z2: (B, K), B >= 2."""
    distance = (z1 - z2).square().mean()
    hinge = (variance_term(z1) + variance_term(z2)) / 2
    return invariance * distance + variance * hinge + covariance * (covariance_term(z1) + covariance_term(z2))


def variance_term(z: Tensor) -> Tensor:
    """Compute how far a feature's standard deviation is below 1, mean over features: (B, K) -> () (VICReg, Eq. 1)."""
    return (1 - (z.var(0) + 1e-4).sqrt()).relu().mean()


def covariance_term(z: Tensor) -> Tensor:
    """Sum of squared covariances of different features, per feature: (B, K) -> () (VICReg, Eq. 3 and 4)."""
    centred = z - z.mean(0)  # (B, K)
    covariance = centred.T @ centred / (len(z) - 1)  # (K, K)
    return (covariance.square().sum() - covariance.diagonal().square().sum()) / z.shape[1]


class VICReg(Siamese):
    """Variance, invariance and covariance of two views."""

    name, title, Config = "vicreg", "VICReg", VICRegConfig

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Return the weighted sum of the three terms."""
        return vicreg_loss(z1, z2, self.config.invariance, self.config.variance, self.config.covariance)


@dataclass(frozen=True)
class BarlowConfig(SiameseConfig):
    """Hyperparameters of Barlow Twins."""

    off_diagonal_weight: Annotated[float, Field(ge=0), Log(5e-4, 5e-2)] = 5e-3
    """Weight of the second term."""


def barlow_loss(z1: Tensor, z2: Tensor, off_diagonal_weight: float) -> Tensor:
    """Compute the distance of the cross-correlation of two views (B, K), standardised here, from the identity: 0-d."""
    one, two = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in (z1, z2))  # (B, K)
    squares = (one.T @ two / len(z1)).square()  # (K, K)
    diagonal = (one * two).mean(0)  # (K,)
    return (diagonal - 1).square().sum() + off_diagonal_weight * (squares.sum() - squares.trace())


class BarlowTwins(Siamese):
    """Redundancy reduction of two views, by their cross-correlation."""

    name, title, Config = "barlow", "Barlow Twins", BarlowConfig

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Compute the loss of redundancy reduction."""
        return barlow_loss(z1, z2, self.config.off_diagonal_weight)


def simsiam_loss(p1: Tensor, z1: Tensor, p2: Tensor, z2: Tensor) -> Tensor:
    """Compute the negative cosine of predictions and the other view's projections: (B, K) each -> 0-d (Eq. 2)."""
    z1 = unit_length(z1.detach())  # (B, K)
    z2 = unit_length(z2.detach())  # (B, K)
    return -((unit_length(p1) * z2).sum(1).mean() + (unit_length(p2) * z1).sum(1).mean()) / 2


class SimSiam(Siamese):
    """Siamese representation learning without negatives, momentum or queue."""

    name, title = "simsiam", "SimSiam"

    def __init__(self, encoder: Encoder, config: SiameseConfig) -> None:
        super().__init__(encoder, config)
        self.prediction_head = batch_norm_head(encoder.config.output, layers=2)[:-1]

    def head(self, width: int) -> nn.Module:
        """Make three layers, batch normalisation after each."""
        return batch_norm_head(width, layers=3)

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Compute the negative cosine in both directions."""
        return simsiam_loss(self.prediction_head(z1), z1, self.prediction_head(z2), z2)


class RandomInit(PretrainMethod):
    """The untrained encoder."""

    name, title = "random", "Random"
    trains = False
