"""The training step of PMQ's released code in plain form (`methods.pmq_released`).

Each step compares patient ids in numpy on the host and exponentiates all candidates; the momentum copy and the average
are updated parameter by parameter; the batch size must divide the queue size.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from benchmark.verbs.speed.plain.network import follow, host_masks
from methods.base import Batch
from methods.encoders.base import Encoder
from methods.parts.queue import KeyQueue
from methods.pmq_released import PMQReleased, PMQReleasedConfig

EPSILON = 1e-12


def host_matrix_loss(
    q: Tensor, k: Tensor, patient: Tensor, queue_keys: Tensor, queue_ids: Tensor, temperature: float
) -> Tensor:
    """`methods.pmq_released.released_loss`: 0-d. q, k: (B, K) of unit length; queue_keys: (M, K); queue_ids: (M,)."""
    ids, queued = patient.cpu().numpy(), queue_ids.cpu().numpy()  # (B,), (M,)
    within = np.equal.outer(ids, ids).astype(int)  # (B, B)
    match = np.concatenate([within, np.equal.outer(ids, queued).astype(int)], axis=1)  # (B, B + M)
    rows, columns = np.where(np.triu(match, 1))
    similarity = torch.exp(torch.cat([q @ k.T, q @ queue_keys.T], dim=1) / temperature)  # (B, B + M)
    total = similarity.sum(1) + EPSILON  # (B,)
    loss = -torch.log((torch.diag(similarity) + EPSILON) / total).mean()
    if len(rows):
        others = -torch.log((similarity[rows, columns] + EPSILON) / total[rows]).mean()
        loss = (loss + others) / 2
    return 2 * temperature * loss


def overwrite_oldest(queue: KeyQueue, keys: Tensor, patient: Tensor) -> None:
    """Enqueue keys (B, K) and patients (B,) over the oldest. Raises ValueError if B does not divide the queue size."""
    size, batch, start = len(queue.keys), len(keys), int(queue.pointer)
    if size == 0:
        return
    if size % batch:
        raise ValueError(f"plain released step: queue size {size} is no multiple of batch size {batch}; choose one")
    queue.keys[start : start + batch] = keys.to(queue.keys.dtype)
    queue.patient[start : start + batch] = patient
    queue.pointer.fill_((start + batch) % size)


class PlainReleased(PMQReleased):
    """PMQ's released step; to be used with a plain encoder."""

    def __init__(self, encoder: Encoder, config: PMQReleasedConfig) -> None:
        super().__init__(encoder, config)
        self.mask = host_masks(config.frequency_mask, config.time_mask)

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch; the key branch moves first, the keys enter the queue last."""
        follow(self.key_encoder, self.average.module, self.config.momentum)
        follow(self.key_projection, self.average_projection.module, self.config.momentum)
        q, k = self.query_and_key(batch)  # (B, K), (B, K)
        keys, ids = self.queue.keys.clone(), self.queue.patient.clone()  # (M, K), (M,)
        loss = host_matrix_loss(q, k, batch.patient, keys, ids, self.config.temperature)
        overwrite_oldest(self.queue, k, batch.patient)
        return loss
