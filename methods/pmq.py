"""PMQ: contrast a heartbeat with a queue of keys, where all keys of its patient are positives (PMQ, Eq. 1 and 2).

Query: encoder, projection, prediction. Key: momentum copies of encoder and projection on the neighbouring heartbeat.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.knobs import FrequencyMask, Momentum, Temperature, TimeMask
from methods.parts.losses import multi_positive_nce, unit_length
from methods.parts.masks import frequency_then_time
from methods.parts.momentum import EMPTY, KeyQueue, batch_norm_head, momentum_copy, update_momentum


@dataclass(frozen=True)
class PMQConfig(MethodConfig):
    """Knobs of PMQ; the defaults are the paper's."""

    temperature: Temperature = 0.1
    momentum: Momentum = 0.999
    queue_size: Annotated[int, Field(ge=0, le=10**7)] = 16384
    """Keys in the queue besides those of the batch; 0 is the ablation without a queue."""
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1
    positives: Literal["own", "recording", "patient"] = "patient"
    """Positive keys: the pair's, the recording's or the patient's. Negatives: other patients'. The rest is left out."""
    projection_layers: Annotated[int, Field(ge=1)] = 3
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
    positive: Tensor | None = None,
) -> Tensor:
    """PMQ, Eq. 1, with its factor 2 tau: 0-d.

    q, k: (B, K) of unit length; patient: (B,); queue_keys: (M, K); queue_ids: (M,), -1 where a slot is empty.
    Candidates: the B current and M queued keys, i.e. the paper's queue after its enqueue. Positives: keys of the same
    patient, or of `positive` (B, B + M) bool; the patient's other keys are then left out of the denominator.
    """
    keys, ids = torch.cat([k, queue_keys]), torch.cat([patient, queue_ids])  # (B + M, K), (B + M,)
    same_patient, valid = patient[:, None] == ids, ids != EMPTY  # (B, B + M), (B + M,)
    if positive is None:
        return 2 * temperature * multi_positive_nce(q, keys, same_patient, valid, temperature)
    return 2 * temperature * multi_positive_nce(q, keys, positive, valid & (positive | ~same_patient), temperature)


def attracting(positives: str, batch: Batch, queue: KeyQueue) -> Tensor:
    """Positives 'own' or 'recording' of each query among the B current and M queued keys: (B, B + M) bool."""
    if positives == "own":
        pairs, queued = len(batch.patient), len(queue.patient)
        return torch.eye(pairs, pairs + queued, dtype=torch.bool, device=batch.patient.device)  # (B, B + M)
    return batch.recording[:, None] == torch.cat([batch.recording, queue.recording])  # (B, B + M)


class PMQ(PretrainMethod):
    """Patient memory queue, as the paper's text describes it."""

    name: ClassVar[str] = "pmq"
    title: ClassVar[str] = "PMQ"
    Config: ClassVar[type[MethodConfig]] = PMQConfig
    version: ClassVar[int] = 2

    def __init__(self, encoder: Encoder, config: PMQConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.config = config
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection = batch_norm_head(width, config.projection_layers)
        self.prediction = batch_norm_head(width, config.prediction_layers)
        self.key_encoder = momentum_copy(encoder)
        self.key_projection = momentum_copy(self.projection)
        self.queue = KeyQueue(config.queue_size, width)

    def forward(self, batch: Batch) -> Tensor:
        """PMQ, Eq. 1, for a batch: 0-d; in training mode the batch's keys then enter the queue."""
        q, k = self.query_and_key(batch)  # (B, K), (B, K)
        queue, which = self.queue, self.config.positives
        positive = None if which == "patient" else attracting(which, batch, queue)
        loss = patient_info_nce(q, k, batch.patient, queue.keys, queue.patient, self.config.temperature, positive)
        if self.training:
            self.queue.push(k, batch.patient, batch.recording)
        return loss

    def query_and_key(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Queries of the first view and momentum keys of the second, (B, K) each, of unit length."""
        q = unit_length(self.prediction(self.projection(self.encoder.pooled(batch.x1, self.mask))))  # (B, K)
        with torch.no_grad():
            k = unit_length(self.key_projection(self.key_encoder.pooled(batch.x2, self.mask)))  # (B, K)
        return q, k

    def after_step(self) -> None:
        """Momentum update of the key branch (PMQ, Eq. 2)."""
        update_momentum(self.key_encoder, self.encoder, self.config.momentum)
        update_momentum(self.key_projection, self.projection, self.config.momentum)
