"""TS2Vec: two overlapping, masked crops of a window agree where both see it (Yue et al. 2022, Eq. 1 to 3).

Temporal contrast tells the steps of a window apart, instance contrast the windows of a batch at each step, at every
halving of the time axis. A crop hides the embedded input outside it, so that any encoder can be trained; downstream
tasks get the running average of the encoder.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, Pairing, Recipe
from methods.encoders.base import output_stretch, refuse_single
from methods.momentum import AveragedMethod
from methods.parts.hyperparameters import Choice, Share, TimeMask
from methods.parts.layers import dropout, time_mask
from methods.parts.losses import two_view_nce


@dataclass(frozen=True)
class TS2VecConfig(MethodConfig):
    """Hyperparameters of TS2Vec; the defaults are the authors'."""

    pairing: Pairing = "same"
    encoder_dropout: Share = 0.1
    time_mask: TimeMask = 0.5
    instance_weight: Annotated[Share, Choice((0.25, 0.5, 0.75))] = 0.5
    """Share of instance contrast in the loss; the rest is temporal contrast."""
    recipe: Recipe = Recipe(schedule="constant", batch_size=16)


def hierarchical_loss(h1: Tensor, h2: Tensor, alpha: float) -> Tensor:
    """Compute alpha * instance + (1 - alpha) * temporal contrast, mean over the halvings down to one step: 0-d.

    h1, h2: (B, S, K) outputs per time step of two views; raw dot products, max pooling. One step alone has instance
    contrast only (TS2Vec, Eq. 3 and Algorithm 1).
    """
    levels = []
    while True:
        across = two_view_nce(h1.transpose(0, 1), h2.transpose(0, 1), temperature=1.0)  # () windows, at each step
        along = two_view_nce(h1, h2, temperature=1.0)  # () steps, of each window; 0 for a single one
        levels.append(alpha * across + (1 - alpha) * along)
        if h1.shape[1] == 1:
            return torch.stack(levels).mean()
        h1, h2 = (F.max_pool1d(h.mT, 2).mT for h in (h1, h2))  # (B, S // 2, K)


def draw_crops() -> tuple[float, float, float, float]:
    """Draw the edges of two crops, a-c and b-d, that overlap from b to c: a <= b < c <= d in [0, 1]."""
    overlap, offset, before, after = torch.rand(4).tolist()
    b = offset * (1 - overlap)
    c = b + overlap
    return before * b, b, c, c + after * (1 - c)


def crop(x: Tensor, start: float, stop: float) -> Tensor:
    """Set what lies outside a share of the time axis to zero: (B, S, D) -> (B, S, D)."""
    inside = torch.zeros(x.shape[1], 1, dtype=torch.bool, device=x.device)  # (S, 1)
    inside[math.floor(start * x.shape[1]) : math.ceil(stop * x.shape[1])] = True
    return x * inside  # (B, S, D)


class TS2Vec(AveragedMethod):
    """Hierarchical contrast of two crops' outputs per time step."""

    name, title, Config = "ts2vec", "TS2Vec", TS2VecConfig
    version = 2
    encoder_passes = 8.0  # measured at its batch of 16; the losses grow with the batch

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss on the steps that both crops see. Raises ValueError if the encoder gives a single step."""
        a, b, c, d = draw_crops()
        embedded = self.encoder.embed(batch.x1)  # (B, T, D)
        h1 = self.outputs(embedded, a, c)  # (B, S', K)
        h2 = self.outputs(self.encoder.embed(batch.x2), b, d)  # (B, S', K)
        refuse_single(self.name, min(embedded.shape[1], h1.shape[1]))
        shared = output_stretch(b, c, embedded.shape[1], h1.shape[1])
        h1, h2 = h1[:, shared], h2[:, shared]  # (B, overlap, K)
        return hierarchical_loss(h1, h2, self.config.instance_weight)

    def outputs(self, embedded: Tensor, start: float, stop: float) -> Tensor:
        """Encode a crop, of which a share of the steps is then hidden: (B, T, D) -> (B, S', K)."""
        seen = time_mask(crop(embedded, start, stop), self.config.time_mask)  # (B, T, D)
        return dropout(self.encoder.steps(seen), self.encoder.dropout, self.training)  # (B, S', K)
