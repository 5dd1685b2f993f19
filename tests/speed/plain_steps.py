"""Plain implementations of training steps and preparation, which those of the suite are held against.

Each is the suite's class without its optimisations: one full similarity matrix, ids compared and masks drawn on the
host, momentum parameter by parameter. PMQ's is the step of its released code: it compares patient ids in numpy,
exponentiates all candidates, and its batch size must divide the queue size. Heartbeats are found lead by lead through
neurokit2, as in the authors' notebooks.
"""

from __future__ import annotations

import warnings
from dataclasses import fields
from functools import partial
from typing import Any

import neurokit2
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from benchmark.data.heartbeats import FS, WINDOW
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.byol import BYOL, BYOLConfig
from methods.clocs import CLOCS
from methods.comet import COMET, ID_TEMPERATURE, COMETConfig
from methods.encoders.base import Encoder
from methods.encoders.dilated import Block, Dilated
from methods.etp import ETP
from methods.moco import MoCo, MoCoConfig
from methods.parts.losses import unit_length
from methods.parts.masks import Mask
from methods.parts.momentum import KeyQueue
from methods.pclr import PCLR
from methods.pmq_released import PMQReleased, PMQReleasedConfig


class PlainDilated(Dilated):
    """`Dilated` with each convolution over all taps on (B, C, S) and every output computed before the mean."""

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Representation of each time step: (B, S, L) -> (B, S, K)."""
        x = self.input(x)  # (B, S, D)
        if mask is not None:
            x = mask(x)  # (B, S, D)
        x = x.transpose(1, 2)  # (B, D, S)
        for block in (*self.hidden, self.output):
            assert isinstance(block, Block)
            x = plain_block(block, x)  # (B, D, S), in the end (B, K, S)
        return F.dropout(x, self.dropout, self.training).transpose(1, 2)  # (B, S, K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Representation of a window: (B, S, L) -> (B, K)."""
        steps: Tensor = self(x, mask)  # (B, S, K)
        return steps.mean(1)  # (B, K)


PLAIN_ENCODERS: dict[type[Encoder], type[Encoder]] = {Dilated: PlainDilated}
"""Plain form of each encoder that has one."""


def plain_block(block: Block, x: Tensor) -> Tensor:
    """A residual block: (B, C, S) -> (B, O, S)."""
    shortcut = x if block.skip is None else F.conv1d(x, block.skip.weight, block.skip.bias)  # (B, O, S)
    for conv in (block.conv1, block.conv2):
        (dilation,) = conv.dilation
        x = F.conv1d(F.gelu(x), conv.weight, conv.bias, padding=dilation, dilation=dilation)  # (B, O, S)
    return x + shortcut


def host_time_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """`time_mask` drawn by numpy: (B, S, D) -> (B, S, D)."""
    keep = np.random.default_rng().binomial(1, 1 - mask_ratio, x.shape[:2])  # (B, S)
    return x * torch.from_numpy(keep).to(x)[..., None]  # (B, S, D)


def host_frequency_mask(x: Tensor, mask_ratio: float) -> Tensor:
    """`frequency_mask` drawn on the host: (B, S, D) -> (B, S, D)."""
    spectrum = torch.fft.rfft(x.float(), dim=1)  # (B, S // 2 + 1, D)
    keep = torch.rand(spectrum.shape) >= mask_ratio  # (B, S // 2 + 1, D)
    masked: Tensor = torch.fft.irfft(spectrum * keep.to(x.device), n=x.shape[1], dim=1)  # (B, S, D)
    return masked


def host_spans_mask(x: Tensor, spans: int, span_share: float) -> Tensor:
    """`continuous_mask` drawn sample by sample: (B, S, D) -> (B, S, D)."""
    batch, steps = x.shape[:2]
    length, generator = max(1, int(span_share * steps)), np.random.default_rng()
    keep = np.ones((batch, steps), bool)
    for sample in range(batch):
        for start in generator.integers(steps - length + 1, size=spans):
            keep[sample, start : start + length] = False
    return x * torch.from_numpy(keep).to(x)[..., None]  # (B, S, D)


def host_masks(frequency_ratio: float, time_ratio: float) -> Mask:
    """The masks of nonzero ratio, frequency first."""

    def mask(x: Tensor) -> Tensor:
        if frequency_ratio > 0:
            x = host_frequency_mask(x, frequency_ratio)
        return host_time_mask(x, time_ratio) if time_ratio > 0 else x

    return mask


@torch.no_grad()
def follow(target: nn.Module, source: nn.Module, momentum: float | Tensor) -> None:
    """target <- momentum * target + (1 - momentum) * source, parameter by parameter."""
    for kept, new in zip(target.parameters(), source.parameters(), strict=True):
        kept.data = kept.data * momentum + new.data * (1 - momentum)


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
        follow(self.momentum_encoder, self.average.module, self.config.momentum)
        follow(self.momentum_projection_head, self.average_projection_head.module, self.config.momentum)
        q = unit_length(self.prediction_head(self.projection_head(self.encoder.pooled(batch.x1, self.mask))))  # (B, K)
        with torch.no_grad():
            k = unit_length(self.momentum_projection_head(self.momentum_encoder.pooled(batch.x2, self.mask)))  # (B, K)
        keys, ids = self.queue.keys.clone(), self.queue.patient.clone()  # (M, K), (M,)
        loss = host_matrix_loss(q, k, batch.patient, keys, ids, self.config.temperature)
        overwrite_oldest(self.queue, k, batch.patient)
        return loss


class PlainMoCo(MoCo):
    """MoCo, Eq. 1, over a full queue."""

    def __init__(self, encoder: Encoder, config: MoCoConfig) -> None:
        super().__init__(encoder, config)
        self.mask = host_masks(config.frequency_mask, config.time_mask)

    def forward(self, batch: Batch) -> Tensor:
        """The loss of a batch, whose keys then enter the queue."""
        q, k = unit_length(self.online(batch.x1)), unit_length(self.target(batch.x2))  # (B, K), (B, K)
        own = torch.einsum("bk,bk->b", q, k)[:, None]  # (B, 1)
        queued = torch.einsum("bk,mk->bm", q, self.queue.keys.clone())  # (B, M)
        logits = torch.cat([own, queued], dim=1) / self.config.temperature  # (B, 1 + M)
        overwrite_oldest(self.queue, k, batch.patient)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.int64, device=q.device))

    def after_step(self) -> None:
        """MoCo, Eq. 2."""
        follow(self.momentum_encoder, self.encoder, self.config.momentum)
        follow(self.momentum_projection_head, self.projection_head, self.config.momentum)
        self.updates_done += 1


class PlainBYOL(BYOL):
    """BYOL, Eq. 2; its loss is the suite's."""

    def __init__(self, encoder: Encoder, config: BYOLConfig) -> None:
        super().__init__(encoder, config)
        self.mask = host_masks(config.frequency_mask, config.time_mask)

    def after_step(self) -> None:
        """BYOL, Eq. 1."""
        momentum = self.momentum()
        follow(self.momentum_encoder, self.encoder, momentum)
        follow(self.momentum_projection_head, self.projection_head, momentum)
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
        views = [self.projection_head(self.encoder.pooled(x)) for x in (batch.x1, batch.x2)]  # (B, K) each
        z = F.normalize(torch.cat(views), dim=1)  # (2B, K)
        oneself = torch.eye(len(z), dtype=torch.bool, device=z.device)  # (2B, 2B)
        logits = (z @ z.T / self.config.temperature).float().masked_fill(oneself, -torch.inf)  # (2B, 2B)
        return F.cross_entropy(logits, torch.arange(len(z), device=z.device).roll(len(z) // 2))


class PlainCOMET(COMET):
    """COMET in the matrices of TS2Vec; all eight passes are kept for the backward pass."""

    def __init__(self, encoder: Encoder, config: COMETConfig) -> None:
        super().__init__(encoder, config)
        self.mask = partial(host_spans_mask, spans=config.mask_spans, span_share=config.mask_span_share)

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


def plain_heartbeats(signal: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float32]:
    """Beats (n, 300, L) of a recording (T, L) at fs Hz, which must have a rate >= 50/min and a beat in some lead."""
    leads = [resampled(lead, fs) for lead in signal.T]
    standard = StandardScaler().fit_transform(np.stack(leads, axis=1))  # (T, L)
    peaks = [peaks_of(lead) for lead in standard.T]
    median_rr = np.median([np.median(np.diff(lead)) for lead in peaks if len(lead) > 1])
    beats = []
    for number in range(max(len(lead) for lead in peaks)):
        centre = int(np.median([lead[number] for lead in peaks if number < len(lead)]))
        half = int(median_rr / 2)
        beat = standard[max(centre - half, 0) : centre + half]
        before = (WINDOW - len(beat)) // 2
        beats.append(np.pad(beat, ((before, WINDOW - len(beat) - before), (0, 0))))
    return np.asarray(beats, np.float32)


def resampled(lead: NDArray[np.floating[Any]], fs: float) -> NDArray[np.float64]:
    """A lead (T,) at fs Hz, linearly interpolated to 250 Hz."""
    samples = len(lead)
    line = interp1d(np.arange(1, samples + 1), lead, kind="linear")
    return np.asarray(line(np.linspace(1, samples, int(samples * FS / fs))), np.float64)


def peaks_of(lead: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sample indices of the R peaks of a lead (T,) at 250 Hz."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # mean of an empty slice on a lead without a whole QRS
        _, found = neurokit2.ecg_peaks(neurokit2.ecg_clean(lead, sampling_rate=FS), sampling_rate=FS)
    return np.asarray(found["ECG_R_Peaks"], np.int64)


PLAIN: dict[str, type[PretrainMethod]] = {
    "moco": PlainMoCo,
    "byol": PlainBYOL,
    "clocs": PlainCLOCS,
    "pclr": PlainPCLR,
    "comet": PlainCOMET,
    "etp": ETP,
    "pmq": PlainReleased,
    "pmq-released": PlainReleased,
}
"""Plain form of each method; ETP's differs only in the encoder, PMQ's is the authors' released step."""


def released_knobs(config: MethodConfig) -> PMQReleasedConfig:
    """The knobs of PMQ, including dropout, that its released code also has."""
    shared = {field.name for field in fields(PMQReleasedConfig)} & {field.name for field in fields(config)}
    return PMQReleasedConfig(**{name: getattr(config, name) for name in shared})
