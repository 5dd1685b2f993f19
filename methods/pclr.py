"""PCLR: two ECGs of one patient attract, those of all other patients in the batch repel (SimCLR, Eq. 1).

The views are heartbeats of two recordings of a patient, or two heartbeats of the only recording; a batch has at most
one pair per patient. Diamant et al. 2022.
"""

from __future__ import annotations

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, Batching, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.hyperparameters import Count, Temperature
from methods.parts.layers import mlp_head
from methods.parts.losses import nt_xent


@dataclass(frozen=True)
class PCLRConfig(MethodConfig):
    """Hyperparameters of PCLR; `batching: patient-once` gives the authors' one pair per patient and epoch."""

    pairing: Pairing = "patient"
    batching: Batching = "patient"
    temperature: Temperature = 0.1
    projection_layers: Count = 2
    """Layers of the projection head."""
    recipe: Recipe = Recipe("adam", lr=1e-2, weight_decay=0.0, schedule="constant", batch_size=512)


class PCLR(PretrainMethod):
    """Patient contrastive learning of representations."""

    name, title, Config = "pclr", "PCLR", PCLRConfig
    version = 2
    encoder_passes = 6.0

    def __init__(self, encoder: Encoder, config: PCLRConfig) -> None:
        super().__init__(encoder, config)
        self.projection_head = mlp_head(encoder.config.output, config.projection_layers)

    def forward(self, batch: Batch) -> Tensor:
        """Compute NT-Xent of the projections of both views."""
        z1 = self.projection_head(self.encoder.pooled(batch.x1))  # (B, K)
        z2 = self.projection_head(self.encoder.pooled(batch.x2))  # (B, K)
        return nt_xent(z1, z2, self.config.temperature)

    def positives(self, batch: Batch) -> Tensor:
        """Tell that a query has its own pair alone: (B, B) bool."""
        return torch.eye(len(batch.patient), dtype=torch.bool, device=batch.patient.device)  # (B, B)
