"""PMQ as its authors' released code trains it, which differs from the paper's text (github.com/3hiuwoo/PMQ).

The own key carries half of the loss, in-batch positives count only above the diagonal, the key head is the first two
of the projection's three layers, the key branch follows the running average of the query branch, and downstream tasks
get the running average of the encoder. Empty slots hold noise keys with id 0, so patients must be numbered from 1.
"""

from __future__ import annotations

import math

import torch
from pydantic.dataclasses import dataclass
from torch import Tensor

from methods.base import Batch, Batching
from methods.encoders.base import Encoder
from methods.moco import QueueConfig
from methods.momentum import AveragedMethod, KeyQueue, RunningAverage, momentum_copy, update_momentum
from methods.parts.hyperparameters import Share
from methods.parts.layers import batch_norm_head, frequency_then_time
from methods.parts.losses import scaled_similarity, unit_length

LOG_EPSILON = math.log(1e-12)
MOMENTUM_LAYERS = slice(0, 5)
"""Linear, BatchNorm, ReLU, Linear, BatchNorm: the first two layers of the projection."""


@dataclass(frozen=True)
class PMQReleasedConfig(QueueConfig):
    """Hyperparameters of the released code; the defaults are its command line's. Its queue may have any size."""

    batching: Batching = "trial-fixed"
    encoder_dropout: Share = 0.1


def released_loss(
    q: Tensor, k: Tensor, patient: Tensor, queue_keys: Tensor, queue_ids: Tensor, temperature: float
) -> Tensor:
    """Compute the released code's loss: 0-d. Shapes as in `pmq.patient_info_nce`; M = 0 is its form without a queue.

    With l_ij = -log((exp s_ij + 1e-12) / (sum_j exp s_ij + 1e-12)) over all candidates j, empty slots included, it is
    tau (mean_i l_ii + mean of l_ij over pairs of one patient with j > i), or 2 tau mean_i l_ii without such a pair.
    """
    logits = scaled_similarity(q, torch.cat([k, queue_keys]), temperature)  # (B, B + M)
    epsilon = logits.new_full((), LOG_EPSILON)  # ()
    total = torch.logaddexp(logits.logsumexp(1, keepdim=True), epsilon)  # (B, 1)
    nll = total - torch.logaddexp(logits, epsilon)  # (B, B + M)
    pair = (patient[:, None] == torch.cat([patient, queue_ids])).triu(1)  # (B, B + M)
    of_pairs = nll.diagonal().mean()
    others = nll.masked_fill(~pair, 0.0).sum() / pair.sum().clamp(min=1)
    return 2 * temperature * torch.where(pair.any(), (of_pairs + others) / 2, of_pairs)


class PMQReleased(AveragedMethod):
    """Patient memory queue, as the released code trains it."""

    name, title, Config = "pmq-released", "PMQ (released code)", PMQReleasedConfig
    version = 3

    def __init__(self, encoder: Encoder, config: PMQReleasedConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.mask = frequency_then_time(config.frequency_mask, config.time_mask)
        self.projection_head = batch_norm_head(width, layers=3)
        self.prediction_head = batch_norm_head(width, layers=2)
        self.average_projection_head = RunningAverage(self.projection_head[MOMENTUM_LAYERS])
        self.momentum_encoder = momentum_copy(encoder)
        self.momentum_projection_head = momentum_copy(self.projection_head[MOMENTUM_LAYERS])
        self.queue = KeyQueue(config.queue_size, width)
        self.queue.keys.copy_(unit_length(torch.randn_like(self.queue.keys)))
        self.queue.patient.zero_()

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch; in training the key branch moves first and the keys enter the queue last."""
        if self.training:
            update_momentum(self.momentum_encoder, self.average.module, self.config.momentum)
            update_momentum(self.momentum_projection_head, self.average_projection_head.module, self.config.momentum)
        q = unit_length(self.prediction_head(self.projection_head(self.encoder.pooled(batch.x1, self.mask))))  # (B, K)
        with torch.no_grad():
            k = unit_length(self.momentum_projection_head(self.momentum_encoder.pooled(batch.x2, self.mask)))  # (B, K)
        keys = self.queue.keys.clone()  # (M, K), since `push` would change what the backward pass reads
        loss = released_loss(q, k, batch.patient, keys, self.queue.patient, self.config.temperature)
        if self.training:
            self.queue.push(k, batch.patient, batch.recording)
        return loss

    def after_step(self) -> None:
        """Add the new weights to the running averages."""
        super().after_step()
        self.average_projection_head.update(self.projection_head[MOMENTUM_LAYERS])
