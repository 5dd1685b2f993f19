"""CLOCS: two views of a patient attract in either direction, and so do views of a patient's other windows.

CMSC, which contrasts neighbouring windows with all leads. No masks, no heads: the encoder's output is what is
contrasted. Kiyasseh et al. 2021, the patient-specific noise contrastive estimation loss.
"""

from __future__ import annotations

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, PretrainMethod, Recipe
from methods.parts.hyperparameters import Temperature
from methods.parts.losses import scaled_similarity, shared_id_nce, unit_length


@dataclass(frozen=True)
class CLOCSConfig(MethodConfig):
    """Hyperparameters of CLOCS; the defaults are the paper's, except that a view has all leads."""

    temperature: Temperature = 0.1
    recipe: Recipe = Recipe("adam", lr=1e-4, weight_decay=0.0, schedule="constant")


def cmsc_loss(z1: Tensor, z2: Tensor, patient: Tensor, temperature: float) -> Tensor:
    """Compute CLOCS's loss of two views: 0-d. z1, z2: (B, K), normalised here; patient: (B,).

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
        """Compute the loss of both windows of each pair."""
        z1 = self.encoder.pooled(batch.x1)  # (B, K)
        z2 = self.encoder.pooled(batch.x2)  # (B, K)
        return cmsc_loss(z1, z2, batch.patient, self.config.temperature)

    def positives(self, batch: Batch) -> Tensor:
        """Tell which windows of the batch are of the query's patient: (B, B) bool."""
        return batch.patient[:, None] == batch.patient  # (B, B)
