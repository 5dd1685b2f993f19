"""MoCo: the other view's key is the positive, the keys of a queue are the negatives (He et al. 2020, Eq. 1).

Views, masks and heads are PMQ's, so that the two differ in their positives alone; `predictor: false` and `head: v2`
give the heads of MoCo v2 (Chen et al. 2020).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig
from methods.encoders.base import Encoder
from methods.momentum import EMPTY, KeyQueue, MomentumMethod
from methods.parts.hyperparameters import FrequencyMask, Momentum, Temperature, TimeMask
from methods.parts.layers import batch_norm_head, frequency_then_time, mlp_head
from methods.parts.losses import scaled_similarity, unit_length


@dataclass(frozen=True)
class QueueConfig(MethodConfig):
    """Hyperparameters of the methods with a queue; the defaults are PMQ's."""

    temperature: Temperature = 0.1
    momentum: Momentum = 0.999
    queue_size: Annotated[int, Field(ge=0, le=10**7)] = 16384
    """Keys in the queue besides those of the batch; with 0 there is no queue, and MoCo's loss is 0."""
    time_mask: TimeMask = 0.5
    frequency_mask: FrequencyMask = 0.1


@dataclass(frozen=True)
class MoCoConfig(QueueConfig):
    """Hyperparameters of MoCo."""

    head: Literal["pmq", "v2"] = "pmq"
    """Projection head. pmq: three layers with batch normalisation; v2: two without."""
    predictor: bool = True
    """Prediction head of two layers on the query, as in PMQ; the original MoCo has none."""


def moco_loss(q: Tensor, k: Tensor, queue_keys: Tensor, queue_ids: Tensor, temperature: float) -> Tensor:
    """Compute InfoNCE over a query's own key, which is the positive, and the queue: 0-d (MoCo, Eq. 1).

    q, k: (B, K) of unit length; queue_keys: (M, K); queue_ids: (M,), slots with -1 are left out.
    """
    positive = (q * k).sum(1, keepdim=True) / temperature  # (B, 1)
    negatives = scaled_similarity(q, queue_keys, temperature)  # (B, M)
    logits = torch.cat([positive, negatives.masked_fill(queue_ids == EMPTY, -torch.inf)], dim=1)  # (B, 1 + M)
    return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.int64, device=q.device))


class MoCo(MomentumMethod):
    """Momentum contrast."""

    name, title = "moco", "MoCo"
    Config: ClassVar[type[MethodConfig]] = MoCoConfig
    version = 2

    def __init__(self, encoder: Encoder, config: QueueConfig) -> None:
        width = encoder.config.output
        super().__init__(encoder, config, *self.heads(width, config))
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.queue = KeyQueue(config.queue_size, width)

    def heads(self, width: int, config: Any) -> tuple[nn.Module, nn.Module]:
        """Build projection and prediction head, (B, K) -> (B, K) each."""
        projection_head = mlp_head(width, layers=2) if config.head == "v2" else batch_norm_head(width, layers=3)
        return projection_head, batch_norm_head(width, layers=2) if config.predictor else nn.Identity()

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch; in training mode its keys then enter the queue."""
        q = unit_length(self.online(batch.x1))  # (B, K)
        k = unit_length(self.target(batch.x2))  # (B, K)
        loss = self.loss(q, k, batch)
        if self.training:
            self.queue.push(k, batch.patient, batch.recording)
        return loss

    def loss(self, q: Tensor, k: Tensor, batch: Batch) -> Tensor:
        """Compute the loss of queries and keys, (B, K) each of unit length: 0-d."""
        keys = self.queue.keys.clone()  # (M, K), since `push` would change what the backward pass reads
        return moco_loss(q, k, keys, self.queue.patient, self.config.temperature)
