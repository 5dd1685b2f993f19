"""VICReg: two masked views attract, and no feature may collapse or repeat another one (VICReg, Eq. 1 to 6).

Invariance: squared distance of the views. Variance: a hinge on each feature's standard deviation. Covariance: squared
covariances of different features. Bardes et al. 2022.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import MethodConfig
from methods.parts.gather import gather_with_gradient
from methods.parts.spaces import Log
from methods.siamese import Siamese, SiameseConfig

EPSILON = 1e-4
"""Under the square root of a variance."""
Weight = Annotated[float, Field(ge=0), Log(1.0, 50.0)]
"""Of a term; 0 leaves it out."""


@dataclass(frozen=True)
class VICRegConfig(SiameseConfig):
    """Knobs of VICReg; the weights are the paper's."""

    invariance: Weight = 25.0
    variance: Weight = 25.0
    covariance: Annotated[float, Field(ge=0), Log(0.1, 10.0)] = 1.0
    """Weight of the third term."""


def vicreg_loss(z1: Tensor, z2: Tensor, invariance: float, variance: float, covariance: float) -> Tensor:
    """Weighted sum of the three terms: 0-d (VICReg, Eq. 6). z1, z2: (B, K), B >= 2."""
    distance = (z1 - z2).square().mean()
    hinge = (variance_term(z1) + variance_term(z2)) / 2
    return invariance * distance + variance * hinge + covariance * (covariance_term(z1) + covariance_term(z2))


def variance_term(z: Tensor) -> Tensor:
    """How far each feature's standard deviation is below 1, mean over features: (B, K) -> () (VICReg, Eq. 1)."""
    return (1 - (z.var(0) + EPSILON).sqrt()).relu().mean()


def covariance_term(z: Tensor) -> Tensor:
    """Sum of squared covariances of different features, per feature: (B, K) -> () (VICReg, Eq. 3 and 4)."""
    centred = z - z.mean(0)  # (B, K)
    covariance = centred.T @ centred / (len(z) - 1)  # (K, K)
    return (covariance.square().sum() - covariance.diagonal().square().sum()) / z.shape[1]


class VICReg(Siamese[VICRegConfig]):
    """Variance, invariance and covariance of two views."""

    name: ClassVar[str] = "vicreg"
    title: ClassVar[str] = "VICReg"
    Config: ClassVar[type[MethodConfig]] = VICRegConfig

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """The weighted sum of the three terms."""
        z1, z2 = gather_with_gradient(z1), gather_with_gradient(z2)  # (B, K), (B, K)
        return vicreg_loss(z1, z2, self.config.invariance, self.config.variance, self.config.covariance)
