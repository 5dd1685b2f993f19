"""Barlow Twins: the features of two masked views correlate with themselves alone (Zbontar et al. 2021, Eq. 1)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.parts.gather import gather_with_gradient
from methods.parts.spaces import Log
from methods.siamese import Siamese, SiameseConfig


@dataclass(frozen=True)
class BarlowConfig(SiameseConfig):
    """Knobs of Barlow Twins."""

    off_diagonal_weight: Annotated[float, Field(ge=0), Log(5e-4, 5e-2)] = 5e-3
    """Weight of the second term."""


def barlow_loss(z1: Tensor, z2: Tensor, off_diagonal_weight: float) -> Tensor:
    """Distance of the cross-correlation of two views (B, K), standardised here, from the identity: 0-d."""
    one, two = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in (z1, z2))  # (B, K)
    squares, own = (one.T @ two / len(z1)).square(), (one * two).mean(0)  # (K, K), (K,)
    return (own - 1).square().sum() + off_diagonal_weight * (squares.sum() - squares.trace())


class BarlowTwins(Siamese[BarlowConfig]):
    """Redundancy reduction."""

    name, title, Config = "barlow", "Barlow Twins", BarlowConfig

    def loss(self, z1: Tensor, z2: Tensor) -> Tensor:
        """Of two projections, (B, K) each: 0-d."""
        z1, z2 = gather_with_gradient(z1), gather_with_gradient(z2)  # (B, K), (B, K)
        return barlow_loss(z1, z2, self.config.off_diagonal_weight)
