"""MoCo with PMQ's views, masks and heads: one positive, the queue as negatives (MoCo, Eq. 1; He et al. 2020).

`predictor: false` and `head: v2` give the heads of MoCo v2 (Chen et al. 2020).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.knobs import FrequencyMask, Momentum, Temperature, TimeMask
from methods.parts.losses import scaled_similarity, unit_length
from methods.parts.masks import frequency_then_time
from methods.parts.momentum import EMPTY, KeyQueue, batch_norm_head, mlp_head, momentum_copy, update_momentum


@dataclass(frozen=True)
class MoCoConfig(MethodConfig):
    """Knobs of MoCo; the defaults are those of PMQ, so that the two differ in their positives alone."""

    temperature: Temperature = 0.1
    momentum: Momentum = 0.999
    queue_size: Annotated[int, Field(ge=0, le=10**7)] = 16384
    """Keys in the queue, which are the negatives: with 0 the loss is 0."""
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1
    head: Literal["pmq", "v2"] = "pmq"
    """Projection head. pmq: three layers with batch normalisation; v2: two without."""
    predictor: bool = True
    """Prediction head of two layers on the query, as in PMQ; the original MoCo has none."""


def moco_loss(q: Tensor, k: Tensor, queue_keys: Tensor, queue_ids: Tensor, temperature: float) -> Tensor:
    """InfoNCE over a query's own key, which is the positive, and the queue: 0-d (MoCo, Eq. 1).

    q, k: (B, K) of unit length; queue_keys: (M, K); queue_ids: (M,), slots with -1 are left out.
    """
    own = (q * k).sum(1, keepdim=True) / temperature  # (B, 1)
    queued = scaled_similarity(q, queue_keys, temperature)  # (B, M)
    queued = queued.masked_fill(queue_ids == EMPTY, -torch.inf)  # (B, M)
    target = torch.zeros(len(q), dtype=torch.int64, device=q.device)  # (B,)
    return F.cross_entropy(torch.cat([own, queued], dim=1), target)


class MoCo(PretrainMethod):
    """Momentum contrast."""

    name: ClassVar[str] = "moco"
    title: ClassVar[str] = "MoCo"
    Config: ClassVar[type[MethodConfig]] = MoCoConfig
    version: ClassVar[int] = 2

    def __init__(self, encoder: Encoder, config: MoCoConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.config = config
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection = mlp_head(width, layers=2) if config.head == "v2" else batch_norm_head(width, layers=3)
        self.prediction = batch_norm_head(width, layers=2) if config.predictor else nn.Identity()
        self.key_encoder = momentum_copy(encoder)
        self.key_projection = momentum_copy(self.projection)
        self.queue = KeyQueue(config.queue_size, width)

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch; in training mode the batch's keys then enter the queue."""
        q, k = self.query_and_key(batch)  # (B, K), (B, K)
        queue = self.queue.snapshot()
        loss = moco_loss(q, k, queue.keys, queue.patient, self.config.temperature)
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
        """Momentum update of the key branch (MoCo, Eq. 2)."""
        update_momentum(self.key_encoder, self.encoder, self.config.momentum)
        update_momentum(self.key_projection, self.projection, self.config.momentum)
