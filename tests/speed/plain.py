"""Plain forms that the suite's are held against: the encoder, PMQ's released step, COMET's losses, heartbeats.

The encoder computes all taps and every output. PMQ's step compares patient ids in numpy and exponentiates all
candidates, as the released code does. COMET's losses are TS2Vec's full matrices, and
all eight passes are kept for the backward pass. Heartbeats are found lead by lead through neurokit2, as in the authors'
notebooks.
"""

from __future__ import annotations

import warnings
from typing import Any

import neurokit2
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from benchmark.data.heartbeats import FS, WINDOW
from methods.base import Batch, PretrainMethod
from methods.comet import COMET, ID_TEMPERATURE
from methods.encoders.dilated import Dilated, DilatedBlock
from methods.momentum import update_momentum
from methods.parts.layers import Mask
from methods.parts.losses import unit_length
from methods.pmq_released import PMQReleased


class PlainDilated(Dilated):
    """`Dilated` with each convolution over all taps on (B, C, S) and every output computed before the mean."""

    def steps(self, embedded: Tensor) -> Tensor:
        """(B, S, D) -> (B, S, K)."""
        h = embedded.mT  # (B, D, S)
        for block in (*self.hidden, self.output):
            assert isinstance(block, DilatedBlock)
            residual = h if block.skip is None else block.skip(h)
            for conv in (block.conv1, block.conv2):
                h = F.conv1d(F.gelu(h), conv.weight, conv.bias, padding=conv.dilation, dilation=conv.dilation)
            h = h + residual
        return h.mT.contiguous()

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """(B, S, L) -> (B, K)."""
        steps: Tensor = self(x, mask)  # (B, S, K)
        return steps.mean(1)  # (B, K)


class PlainReleased(PMQReleased):
    """PMQ's released step; its batch size divides the queue size."""

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch; the key branch moves first, the keys enter the queue last."""
        update_momentum(self.momentum_encoder, self.average.module, self.config.momentum)
        update_momentum(self.momentum_projection_head, self.average_projection_head.module, self.config.momentum)
        q = unit_length(self.prediction_head(self.projection_head(self.encoder.pooled(batch.x1, self.mask))))  # (B, K)
        with torch.no_grad():
            k = unit_length(self.momentum_projection_head(self.momentum_encoder.pooled(batch.x2, self.mask)))  # (B, K)
        ids, queued = batch.patient.cpu().numpy(), self.queue.patient.cpu().numpy()  # (B,), (M,)
        match = np.equal.outer(ids, np.concatenate([ids, queued]))  # (B, B + M)
        rows, columns = np.where(np.triu(match, 1))
        candidates = torch.cat([k, self.queue.keys.clone()])  # (B + M, K)
        similarity = torch.exp(q @ candidates.T / self.config.temperature)  # (B, B + M)
        total = similarity.sum(1) + 1e-12  # (B,)
        loss = -torch.log((torch.diag(similarity) + 1e-12) / total).mean()
        if len(rows):
            loss = (loss - torch.log((similarity[rows, columns] + 1e-12) / total[rows]).mean()) / 2
        start = int(self.queue.pointer)
        self.queue.keys[start : start + len(k)] = k.to(self.queue.keys.dtype)
        self.queue.patient[start : start + len(k)] = batch.patient
        self.queue.pointer.fill_((start + len(k)) % len(self.queue.keys))
        return 2 * self.config.temperature * loss


class PlainCOMET(COMET):
    """COMET in the matrices of TS2Vec."""

    def forward(self, batch: Batch) -> Tensor:
        """Weighted sum of the four levels."""
        h = [[self.encoder(x, mask) for x in (batch.x1, batch.x2)] for mask in (self.mask, self.mask, None, None)]
        return (
            self.config.observation_weight * over_halvings(*h[0])
            + self.config.sample_weight * over_halvings(*h[1], across_samples=True)
            + self.config.trial_weight * same_id_loss(*h[2], batch.trial)
            + self.config.patient_weight * same_id_loss(*h[3], batch.patient)
        )

    loss_terms = PretrainMethod.loss_terms


def over_halvings(h1: Tensor, h2: Tensor, across_samples: bool = False) -> Tensor:
    """TS2Vec's loss at every halving of the time axis: (B, S, K) each -> ()."""
    losses = []
    while h1.shape[1] > 1:
        losses.append(two_views(*((h.transpose(0, 1) if across_samples else h) for h in (h1, h2))))
        h1, h2 = (F.max_pool1d(h.mT, 2).mT for h in (h1, h2))  # (B, S // 2, K)
    return torch.stack(losses).mean()


def two_views(h1: Tensor, h2: Tensor) -> Tensor:
    """InfoNCE over the 2N rows of each of G groups, the other view as positive: (G, N, K) each -> ()."""
    h, rows = torch.cat([h1, h2], dim=1), h1.shape[1]  # (G, 2N, K)
    similarity = h @ h.mT  # (G, 2N, 2N)
    logits = torch.tril(similarity, -1)[..., :-1] + torch.triu(similarity, 1)[..., 1:]  # (G, 2N, 2N - 1)
    nll = -F.log_softmax(logits, dim=-1)  # (G, 2N, 2N - 1)
    i = torch.arange(rows, device=h.device)  # (N,)
    return (nll[:, i, rows + i - 1].mean() + nll[:, rows + i, i].mean()) / 2


def same_id_loss(h1: Tensor, h2: Tensor, ids: Tensor) -> Tensor:
    """COMET's loss with windows of equal id as positives: (B, S, K), (B, S, K), (B,) -> (); some id is shared."""
    z1, z2 = (F.normalize(h, dim=1).flatten(1) for h in (h1, h2))  # (B, S * K)
    lengths = z1.norm(dim=1)[:, None] * z2.norm(dim=1)[None]  # (B, B)
    similarity = torch.exp(z1 @ z2.T / lengths / ID_TEMPERATURE)  # (B, B)
    host = ids.cpu().numpy()
    rows, columns = np.where(np.triu(np.equal.outer(host, host), 1))
    by_row = -torch.log(similarity / similarity.sum(1, keepdim=True))  # (B, B)
    by_column = -torch.log(similarity / similarity.sum(0, keepdim=True))  # (B, B)
    return (by_row[rows, columns].mean() + by_column[columns, rows].mean()) / 2


def plain_heartbeats(signal: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float32]:
    """Beats (n, 300, L) of a recording (T, L) at fs Hz, which must have a rate >= 50/min and a beat in some lead."""
    samples = len(signal)
    line = interp1d(np.arange(1, samples + 1), signal, kind="linear", axis=0)
    standard = StandardScaler().fit_transform(line(np.linspace(1, samples, int(samples * FS / fs))))  # (T', L)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # mean of an empty slice on a lead without a whole QRS
        peaks = [
            neurokit2.ecg_peaks(neurokit2.ecg_clean(lead, sampling_rate=FS), sampling_rate=FS)[1]["ECG_R_Peaks"]
            for lead in standard.T
        ]
    half = int(np.median([np.median(np.diff(lead)) for lead in peaks if len(lead) > 1]) / 2)
    beats = []
    for number in range(max(len(lead) for lead in peaks)):
        centre = int(np.median([lead[number] for lead in peaks if number < len(lead)]))
        beat = standard[max(centre - half, 0) : centre + half]
        before = (WINDOW - len(beat)) // 2
        beats.append(np.pad(beat, ((before, WINDOW - len(beat) - before), (0, 0))))
    return np.asarray(beats, np.float32)


PLAIN: dict[str, type[PretrainMethod]] = {"comet": PlainCOMET, "pmq": PlainReleased, "pmq-released": PlainReleased}
"""Plain form of a method, PMQ's being its authors' released step; that of all others is the plain encoder alone."""
