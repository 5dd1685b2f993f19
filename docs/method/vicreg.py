"""VICReg: two heartbeats attract, and no feature may collapse or repeat another one. The example of docs/METHOD.md.

Bardes et al. 2022, "VICReg: Variance-Invariance-Covariance Regularization for Self-Supervised Learning", Eq. 1 to 6.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Positives, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.heads import batch_norm_head

EPSILON = 1e-4
"""Under the square root of a variance."""


@dataclass(frozen=True)
class VICRegConfig(MethodConfig):
    """Knobs of VICReg; pairing, batching and recipe are inherited."""

    invariance: Annotated[float, Field(ge=0)] = 25.0
    variance: Annotated[float, Field(ge=0)] = 25.0
    covariance: Annotated[float, Field(ge=0)] = 1.0
    layers: Annotated[int, Field(ge=1)] = 2
    """Layers of the expander."""


def spread_loss(z: Tensor) -> Tensor:
    """How far the standard deviation of each feature is below 1, mean over features: (B, K) -> 0-d."""
    return (1 - (z.var(0, unbiased=False) + EPSILON).sqrt()).relu().mean()


def overlap_loss(z: Tensor) -> Tensor:
    """Sum of the squared covariances of different features, per feature: (B, K) -> 0-d."""
    centred = z - z.mean(0)  # (B, K)
    covariance = centred.T @ centred / len(z)  # (K, K)
    return (covariance.square().sum() - covariance.diagonal().square().sum()) / z.shape[1]


class VICReg(PretrainMethod):
    """Variance, invariance and covariance of the projections of two neighbouring heartbeats."""

    name: ClassVar[str] = "vicreg"
    title: ClassVar[str] = "VICReg"
    Config: ClassVar[type[MethodConfig]] = VICRegConfig
    encoder_passes: ClassVar[float] = 6.0

    def __init__(self, encoder: Encoder, config: VICRegConfig) -> None:
        super().__init__(encoder, config)
        self.config = config
        self.expander = batch_norm_head(encoder.config.output, config.layers)
        self.last = nn.Linear(encoder.config.output, encoder.config.output)

    def forward(self, batch: Batch) -> Tensor:
        """The weighted sum of the three terms."""
        z1, z2 = (self.last(self.expander(self.encoder.pooled(x))).float() for x in (batch.x1, batch.x2))  # (B, K)
        knobs = self.config
        return (
            knobs.invariance * (z1 - z2).square().mean()
            + knobs.variance * (spread_loss(z1) + spread_loss(z2)) / 2
            + knobs.covariance * (overlap_loss(z1) + overlap_loss(z2))
        )

    def positives(self, batch: Batch) -> Positives:
        """The pair's other window."""
        return Positives.own_keys(batch.recording)
