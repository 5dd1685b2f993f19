"""The training steps of the other methods in plain form: the losses as SimCLR, CLOCS, TS2Vec and COMET write them.

Each is the suite's class without its optimisations: one full similarity matrix, ids compared and masks drawn on the
host, momentum parameter by parameter, no recomputation to save memory.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmark.verbs.speed.plain.network import follow, host_masks, host_spans_mask
from benchmark.verbs.speed.plain.released_step import overwrite_oldest
from methods.base import Batch
from methods.byol import BYOL, BYOLConfig
from methods.clocs import CLOCS
from methods.comet import COMET, ID_TEMPERATURE, COMETConfig
from methods.encoders.base import Encoder
from methods.moco import MoCo, MoCoConfig
from methods.parts.masks import Masks
from methods.pclr import PCLR


class PlainMoCo(MoCo):
    """MoCo, Eq. 1, over a full queue."""

    def __init__(self, encoder: Encoder, config: MoCoConfig) -> None:
        super().__init__(encoder, config)
        self.mask = host_masks(config.frequency_mask, config.time_mask)

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch, whose keys then enter the queue."""
        q, k = self.query_and_key(batch)  # (B, K), (B, K)
        own = torch.einsum("bk,bk->b", q, k)[:, None]  # (B, 1)
        queued = torch.einsum("bk,mk->bm", q, self.queue.keys.clone())  # (B, M)
        logits = torch.cat([own, queued], dim=1) / self.config.temperature  # (B, 1 + M)
        overwrite_oldest(self.queue, k, batch.patient)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.int64, device=q.device))

    def after_step(self) -> None:
        """MoCo, Eq. 2."""
        follow(self.key_encoder, self.encoder, self.config.momentum)
        follow(self.key_projection, self.projection, self.config.momentum)


class PlainBYOL(BYOL):
    """BYOL, Eq. 2; its loss is the suite's."""

    def __init__(self, encoder: Encoder, config: BYOLConfig) -> None:
        super().__init__(encoder, config)
        self.mask = host_masks(config.frequency_mask, config.time_mask)

    def after_step(self) -> None:
        """BYOL, Eq. 1."""
        momentum = self.momentum()
        follow(self.target_encoder, self.encoder, momentum)
        follow(self.target_projection, self.projection, momentum)
        self.updates_done += 1


class PlainCLOCS(CLOCS):
    """CLOCS with contrastive multi-segment coding (CMSC)."""

    def forward(self, batch: Batch) -> Tensor:
        """The loss of both windows."""
        z1, z2 = self.encoder.pooled(batch.x1), self.encoder.pooled(batch.x2)  # (B, K), (B, K)
        lengths = z1.norm(dim=1)[:, None] * z2.norm(dim=1)[None]  # (B, B)
        similarity = torch.exp(z1 @ z2.T / lengths / self.config.temperature)  # (B, B)
        by_row = -torch.log(similarity / similarity.sum(1, keepdim=True))  # (B, B)
        by_column = -torch.log(similarity / similarity.sum(0, keepdim=True))  # (B, B)
        own = (by_row.diagonal().mean() + by_column.diagonal().mean()) / 2
        rows, columns = pairs_above(batch.patient)
        if not len(rows):
            return own
        return (own + (by_row[rows, columns].mean() + by_column[columns, rows].mean()) / 2) / 2


class PlainPCLR(PCLR):
    """PCLR with SimCLR's full matrix of all 2B windows."""

    def forward(self, batch: Batch) -> Tensor:
        """NT-Xent of both views."""
        views = [self.projection(self.encoder.pooled(x)) for x in (batch.x1, batch.x2)]  # (B, K) each
        z = F.normalize(torch.cat(views), dim=1)  # (2B, K)
        oneself = torch.eye(len(z), dtype=torch.bool, device=z.device)  # (2B, 2B)
        logits = (z @ z.T / self.config.temperature).float().masked_fill(oneself, -torch.inf)  # (2B, 2B)
        return F.cross_entropy(logits, torch.arange(len(z), device=z.device).roll(len(z) // 2))


class PlainCOMET(COMET):
    """COMET in the matrices of TS2Vec; all eight passes are kept for the backward pass."""

    def __init__(self, encoder: Encoder, config: COMETConfig) -> None:
        super().__init__(encoder, config)
        spans = partial(host_spans_mask, spans=config.mask_spans, span_share=config.mask_span_share)
        self.mask = Masks({"spans": spans})

    def forward(self, batch: Batch) -> Tensor:
        """Weighted sum of the four levels."""
        x1, x2 = batch.x1, batch.x2  # (B, S, L) each
        observation = over_halvings(self.encoder(x1, self.mask), self.encoder(x2, self.mask), across_samples=False)
        sample = over_halvings(self.encoder(x1, self.mask), self.encoder(x2, self.mask), across_samples=True)
        trial = same_id_loss(self.encoder(x1), self.encoder(x2), batch.trial)
        patient = same_id_loss(self.encoder(x1), self.encoder(x2), batch.patient)
        return (
            self.config.observation_weight * observation
            + self.config.sample_weight * sample
            + self.config.trial_weight * trial
            + self.config.patient_weight * patient
        )


def pairs_above(ids: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the pairs above the diagonal that share an id, found on the host. ids: (B,)."""
    host = ids.cpu().numpy()
    rows, columns = np.where(np.triu(np.equal.outer(host, host), 1))
    return rows, columns


def over_halvings(h1: Tensor, h2: Tensor, across_samples: bool) -> Tensor:
    """TS2Vec's loss at every halving of the time axis: (B, S, K) each -> ()."""
    losses = []
    while h1.shape[1] > 1:
        losses.append(two_views(*((h.transpose(0, 1) if across_samples else h) for h in (h1, h2))))
        h1, h2 = (F.max_pool1d(h.transpose(1, 2), 2).transpose(1, 2) for h in (h1, h2))  # (B, S // 2, K)
    return torch.stack(losses).mean()


def two_views(h1: Tensor, h2: Tensor) -> Tensor:
    """InfoNCE over the 2N rows of each of G groups, the other view as positive: (G, N, K) each -> ()."""
    h, rows = torch.cat([h1, h2], dim=1), h1.shape[1]  # (G, 2N, K)
    similarity = torch.matmul(h, h.transpose(1, 2)).float()  # (G, 2N, 2N)
    logits = torch.tril(similarity, -1)[..., :-1] + torch.triu(similarity, 1)[..., 1:]  # (G, 2N, 2N - 1)
    nll = -F.log_softmax(logits, dim=-1)  # (G, 2N, 2N - 1)
    i = torch.arange(rows, device=h.device)  # (N,)
    return (nll[:, i, rows + i - 1].mean() + nll[:, rows + i, i].mean()) / 2


def same_id_loss(h1: Tensor, h2: Tensor, ids: Tensor) -> Tensor:
    """COMET's loss with windows of equal id as positives: (B, S, K), (B, S, K), (B,) -> (); 0 without such a pair."""
    z1, z2 = (F.normalize(h.float(), dim=1).flatten(1) for h in (h1, h2))  # (B, S * K)
    lengths = z1.norm(dim=1)[:, None] * z2.norm(dim=1)[None]  # (B, B)
    similarity = torch.exp(z1 @ z2.T / lengths / ID_TEMPERATURE)  # (B, B)
    rows, columns = pairs_above(ids)
    if not len(rows):
        return similarity.sum() * 0
    by_row = -torch.log(similarity / similarity.sum(1, keepdim=True))  # (B, B)
    by_column = -torch.log(similarity / similarity.sum(0, keepdim=True))  # (B, B)
    return (by_row[rows, columns].mean() + by_column[columns, rows].mean()) / 2
