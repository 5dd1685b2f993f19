"""Methods whose positives in a batch are a patient's own windows: CLOCS and PCLR.

CLOCS   two views of a patient attract in either direction, and so do views of a patient's other windows: CMSC, of
        neighbouring windows with all leads, on the encoder's output, without masks and heads (Kiyasseh et al. 2021,
        the patient-specific noise contrastive estimation loss)
PCLR    heartbeats of two recordings of a patient, or of the only one, attract, those of all other patients in the
        batch repel: NT-Xent, with at most one pair per patient (Diamant et al. 2022; SimCLR, Eq. 1)
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, Batching, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.heads import mlp_head
from methods.parts.hyperparameters import Temperature
from methods.parts.losses import nt_xent, scaled_similarity, shared_id_nce, unit_length


@dataclass(frozen=True)
class CLOCSConfig(MethodConfig):
    """Hyperparameters of CLOCS; the defaults are the paper's, except that a view has all leads."""

    temperature: Temperature = 0.1
    recipe: Recipe = field(default_factory=lambda: Recipe("adam", lr=1e-4, weight_decay=0.0, schedule="constant"))


def cmsc_loss(z1: Tensor, z2: Tensor, patient: Tensor, temperature: float) -> Tensor:
    """CLOCS's loss of two views: 0-d. z1, z2: (B, K), normalised here; patient: (B,).

    Mean of two terms: the cross-entropy of a window's own pair, averaged over both directions, and that of pairs of
    different windows of one patient, above the diagonal over rows and below over columns. Without such a pair, the
    first term alone.
    """
    logits = scaled_similarity(unit_length(z1), unit_length(z2), temperature)  # (B, B)
    pair_by_row = -logits.log_softmax(1).diagonal().mean()
    pair_by_column = -logits.log_softmax(0).diagonal().mean()
    of_pairs = (pair_by_row + pair_by_column) / 2
    shared = (patient[:, None] == patient).triu(1).any()  # ()
    return torch.where(shared, (of_pairs + shared_id_nce(logits, patient)) / 2, of_pairs)


class CLOCS(PretrainMethod):
    """Contrastive learning of cardiac signals."""

    name, title, Config = "clocs", "CLOCS", CLOCSConfig
    encoder_passes = 6.0

    def forward(self, batch: Batch) -> Tensor:
        """The loss of both windows of each pair."""
        z1, z2 = self.encoder.pooled(batch.x1), self.encoder.pooled(batch.x2)  # (B, K), (B, K)
        return cmsc_loss(z1, z2, batch.patient, self.config.temperature)

    def positives(self, batch: Batch) -> Tensor:
        """Tell which windows of the batch are of the query's patient: (B, B) bool."""
        return batch.patient[:, None] == batch.patient  # (B, B)


@dataclass(frozen=True)
class PCLRConfig(MethodConfig):
    """Hyperparameters of PCLR; `batching: patient-once` gives the authors' one pair per patient and epoch."""

    pairing: Pairing = "patient"
    batching: Batching = "patient"
    temperature: Temperature = 0.1
    projection_layers: Annotated[int, Field(ge=1)] = 2
    """Layers of the projection head."""
    recipe: Recipe = field(
        default_factory=lambda: Recipe("adam", lr=1e-2, weight_decay=0.0, schedule="constant", batch_size=512)
    )


class PCLR(PretrainMethod):
    """Patient contrastive learning of representations."""

    name, title, Config = "pclr", "PCLR", PCLRConfig
    version = 2
    encoder_passes = 6.0

    def __init__(self, encoder: Encoder, config: PCLRConfig) -> None:
        super().__init__(encoder, config)
        self.projection_head = mlp_head(encoder.config.output, config.projection_layers)

    def forward(self, batch: Batch) -> Tensor:
        """NT-Xent of the projections of both views."""
        z1 = self.projection_head(self.encoder.pooled(batch.x1))  # (B, K)
        z2 = self.projection_head(self.encoder.pooled(batch.x2))  # (B, K)
        return nt_xent(z1, z2, self.config.temperature)

    def positives(self, batch: Batch) -> Tensor:
        """Tell that a query has its own pair alone: (B, B) bool."""
        return torch.eye(len(batch.patient), dtype=torch.bool, device=batch.patient.device)  # (B, B)
