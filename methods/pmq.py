"""PMQ: MoCo in which all keys of the query's patient, in the batch and in the queue, are positives (PMQ, Eq. 1 and 2).

Query: encoder, projection head, prediction head. Key: momentum copies of encoder and projection head on the
neighbouring heartbeat.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch
from methods.moco import MoCo, QueueConfig
from methods.momentum import EMPTY
from methods.parts.hyperparameters import Count
from methods.parts.layers import batch_norm_head
from methods.parts.losses import multi_positive_nce, scaled_similarity


@dataclass(frozen=True)
class PMQConfig(QueueConfig):
    """Hyperparameters of PMQ; the defaults are the paper's."""

    positives: Literal["own", "recording", "patient"] = "patient"
    """Positive keys: the pair's, the recording's or the patient's. Negatives: other patients'. The rest is left out."""
    projection_layers: Count = 3
    """Layers of the projection head, each with batch normalisation."""
    prediction_layers: Annotated[int, Field(ge=0)] = 2
    """0: the projection is the query."""


def patient_info_nce(
    q: Tensor,
    k: Tensor,
    patient: Tensor,
    queue_keys: Tensor,
    queue_ids: Tensor,
    temperature: float,
    positive_mask: Tensor | None = None,
) -> Tensor:
    """Compute PMQ's Eq. 1, with its factor 2 tau: 0-d.

    q, k: (B, K) of unit length; patient: (B,); queue_keys: (M, K); queue_ids: (M,), -1 where a slot is empty.
    Candidates: the B current and M queued keys, i.e. the paper's queue after its enqueue. Positives: keys of the same
    patient, or of `positive_mask` (B, B + M) bool; the patient's other keys are then no candidates.
    """
    keys = torch.cat([k, queue_keys])  # (B + M, K)
    ids = torch.cat([patient, queue_ids])  # (B + M,)
    same_patient = patient[:, None] == ids  # (B, B + M)
    positive = same_patient if positive_mask is None else positive_mask  # (B, B + M)
    candidate = (ids != EMPTY) & (positive | ~same_patient)  # (B, B + M)
    logits = scaled_similarity(q, keys, temperature)  # (B, B + M)
    return multi_positive_nce(logits, positive, candidate, scale=2 * temperature)


class PMQ(MoCo):
    """Patient memory queue, as the paper's text describes it."""

    name, title, Config = "pmq", "PMQ", PMQConfig

    def heads(self, width: int, config: Any) -> tuple[nn.Module, nn.Module]:
        """Build projection and prediction head, (B, K) -> (B, K) each."""
        return batch_norm_head(width, config.projection_layers), batch_norm_head(width, config.prediction_layers)

    def loss(self, q: Tensor, k: Tensor, batch: Batch) -> Tensor:
        """Compute Eq. 1 of queries and keys, (B, K) each of unit length: 0-d."""
        queue = self.queue
        positive = self.positives(batch)  # (B, B + M)
        return patient_info_nce(q, k, batch.patient, queue.keys, queue.patient, self.config.temperature, positive)

    def positives(self, batch: Batch) -> Tensor:
        """Tell which of the B current and M queued keys are positives of each query: (B, B + M) bool."""
        if self.config.positives == "own":
            pairs = len(batch.patient)
            queued = len(self.queue.patient)
            return torch.eye(pairs, pairs + queued, dtype=torch.bool, device=batch.patient.device)  # (B, B + M)
        if self.config.positives == "recording":
            return batch.recording[:, None] == torch.cat([batch.recording, self.queue.recording])  # (B, B + M)
        return batch.patient[:, None] == torch.cat([batch.patient, self.queue.patient])  # (B, B + M)
