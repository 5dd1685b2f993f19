"""COMET: contrast at four levels, from time steps over windows and pseudo-trials to patients (Wang et al. 2023).

Observation and sample level follow TS2Vec, Eq. 1 and 2, on masked views and at every halving of the time axis. Trial
and patient level contrast windows that share an id, on unmasked views that differ by the encoder's dropout alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, Batching, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.hyperparameters import Choice, LossWeight, Share
from methods.parts.layers import Mask, continuous_mask
from methods.parts.losses import shared_id_nce, time_cosine, two_view_nce

ID_TEMPERATURE = 0.1
Loss = Callable[[Tensor, Tensor], Tensor]  # of the outputs per time step of two views, (B, S, K) each -> ()


@dataclass(frozen=True)
class COMETConfig(MethodConfig):
    """Hyperparameters of COMET; the weights are the authors' for the PTB dataset."""

    pairing: Pairing = "same"
    batching: Batching = "trial"
    encoder_dropout: Share = 0.1
    patient_weight: LossWeight = 0.1
    trial_weight: LossWeight = 0.7
    sample_weight: LossWeight = 0.1
    observation_weight: LossWeight = 0.1
    mask_spans: Annotated[int, Field(ge=0), Choice((0, 2, 5, 10))] = 5
    """Stretches hidden in a view of the observation and sample level."""
    mask_span_share: Annotated[Share, Choice((0.05, 0.1, 0.2))] = 0.1
    """Length of each, as a share of the window; they may overlap."""
    recipe: Recipe = Recipe(lr=1e-4, schedule="constant")

    def __post_init__(self) -> None:
        if not self.patient_weight + self.trial_weight + self.sample_weight + self.observation_weight > 0:
            raise ValueError("all four weights are 0: give at least one level a weight above 0")


def observation_loss(h1: Tensor, h2: Tensor) -> Tensor:
    """Compute NT-Xent over a window's S >= 2 steps; positive: the same of the other view. 0-d (TS2Vec, Eq. 1)."""
    return over_halvings(h1, h2, lambda a, b: two_view_nce(a, b, temperature=1.0))


def sample_loss(h1: Tensor, h2: Tensor) -> Tensor:
    """Compute NT-Xent over the windows at each time step; positive: the other view. 0-d (TS2Vec, Eq. 2)."""
    return over_halvings(h1, h2, lambda a, b: two_view_nce(a.transpose(0, 1), b.transpose(0, 1), temperature=1.0))


def over_halvings(h1: Tensor, h2: Tensor, level: Loss) -> Tensor:
    """Average a loss over outputs (B, S, K), (B, S // 2, K), ... down to two or three steps, by max pooling: 0-d."""
    losses = [level(h1, h2)]
    while h1.shape[1] > 3:
        h1, h2 = (F.max_pool2d(h.mT.unsqueeze(2), (1, 2)).squeeze(2).mT for h in (h1, h2))  # (B, S // 2, K)
        losses.append(level(h1, h2))
    return torch.stack(losses).mean()


def same_id_loss(h1: Tensor, h2: Tensor, ids: Tensor) -> Tensor:
    """Attract windows of one pseudo-trial or patient: 0-d, 0 without such a pair. h1, h2: (B, S, K); ids: (B,)."""
    return shared_id_nce(time_cosine(h1, h2) / ID_TEMPERATURE, ids)


trial_loss = patient_loss = same_id_loss
"""The trial and the patient level, with the ids of pseudo-trials and of patients."""


class COMET(PretrainMethod):
    """Contrast at observation, sample, trial and patient level."""

    name, title, Config = "comet", "COMET", COMETConfig
    version = 4
    encoder_passes = 55.0  # measured: 8 passes without the pooled shortcut, and the losses

    def __init__(self, encoder: Encoder, config: COMETConfig) -> None:
        super().__init__(encoder, config)
        self.mask = partial(continuous_mask, spans=config.mask_spans, span_share=config.mask_span_share)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the weighted sum of the four levels: 0-d."""
        return torch.stack(list(self.loss_terms(batch))).sum()

    def loss_terms(self, batch: Batch) -> Iterator[Tensor]:
        """Yield the weighted loss of each level, 0-d, from two passes of its own.

        The graphs of all eight passes would take 16 GiB at the paper's size.
        """
        config = self.config
        if config.observation_weight > 0:
            yield config.observation_weight * observation_loss(*self.views(batch, self.mask))
        if config.sample_weight > 0:
            yield config.sample_weight * sample_loss(*self.views(batch, self.mask))
        if config.trial_weight > 0:
            yield config.trial_weight * trial_loss(*self.views(batch, None), batch.trial)
        if config.patient_weight > 0:
            yield config.patient_weight * patient_loss(*self.views(batch, None), batch.patient)

    def views(self, batch: Batch, mask: Mask | None) -> tuple[Tensor, Tensor]:
        """Encode both views under a mask: (B, S', K) each."""
        return self.encoder(batch.x1, mask), self.encoder(batch.x2, mask)

    def positives(self, batch: Batch) -> Tensor:
        """Tell which windows of the batch are of the query's patient: (B, B) bool."""
        return batch.patient[:, None] == batch.patient  # (B, B)
