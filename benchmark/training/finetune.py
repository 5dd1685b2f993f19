"""Training of encoder and head: fine-tuning (PMQ, "Implementation details"), an attention head, training from scratch.

Each classifier takes an encoder, which it changes, the number of classes and the settings of its evaluation.
Of several learning rates the one with the best validation score (`CRITERIA`) is taken, of fine-tuning and attention the
epoch too. Training from scratch is that of the PTB-XL benchmark (Strodthoff et al. 2020): AdamW under fastai's
one-cycle schedule (Smith 2018), and the last epoch. The loss is cross-entropy or, with several labels, binary
cross-entropy. The head's initial weights and the batch order depend on the seed alone. Of recordings that are kept
whole, each update sees crops drawn anew; they are judged by crops at a fixed stride.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from benchmark.config.schema import Attention, Finetune, Supervised
from benchmark.data.task import Task
from benchmark.machine import stream
from benchmark.results.arrays import Floats
from benchmark.results.metrics import auroc, f1, log_likelihood, per_recording
from benchmark.results.names import RECORDING
from benchmark.training.pretrain import TrainingStopped, autocast
from methods.encoders.base import Encoder
from methods.parts.layers import Mask, frequency_then_time

EVALUATION_BATCH = {"cpu": 128, "cuda": 4096}
"""Windows per evaluation batch, by device type: fits a CPU's cache, few launches on a GPU."""


@dataclass
class Outcome:
    """Test and validation probabilities, training facts and notes of a cell."""

    probability: Floats  # (n_test, C)
    validation: Floats  # (n_validation, C), of what predicts the test windows; (0, C) of none
    training: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def training_mask(settings: Finetune | Supervised) -> Mask | None:
    """Make the masks of PMQ's views, weaker by a factor; None for no masks."""
    return frequency_then_time(0.1 * settings.masks, 0.5 * settings.masks) if settings.masks else None


class Classifier(nn.Module):
    """Encoder and head K-hidden-C with batch normalisation and ReLU, dropout on the logits (PMQ)."""

    def __init__(self, encoder: Encoder, classes: int, settings: Finetune) -> None:
        super().__init__()
        self.encoder, self.mask = encoder, training_mask(settings)
        self.encoder.dropout = settings.encoder_dropout or 0.0
        hidden = settings.head_hidden
        self.head = nn.Sequential(
            nn.Linear(encoder.config.output, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
            nn.Dropout(settings.dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, C) of windows (B, S, L)."""
        logits: Tensor = self.head(self.encoder.pooled(x, self.mask if self.training else None))  # (B, C)
        return logits


class BenchmarkClassifier(nn.Module):
    """Encoder and the head of the PTB-XL benchmark: pooling [maximum, mean], 2K-hidden-C (Strodthoff et al. 2020)."""

    def __init__(self, encoder: Encoder, classes: int, settings: Supervised) -> None:
        super().__init__()
        self.encoder, self.mask = encoder, training_mask(settings)
        width = 2 * encoder.config.output
        hidden = settings.head_hidden
        self.head = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.Dropout(settings.dropout / 2),
            nn.Linear(width, hidden),
            nn.ReLU(),
            nn.BatchNorm1d(hidden),
            nn.Dropout(settings.dropout),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, C) of windows (B, S, L)."""
        steps = self.encoder(x, self.mask if self.training else None)  # (B, S', K)
        logits: Tensor = self.head(torch.cat([steps.amax(1), steps.mean(1)], dim=1))  # (B, C)
        return logits


class AttentionHead(nn.Module):
    """A frozen encoder, and a query that attends over its normalised steps before a linear layer.

    ECG foundation models are judged so with their weights frozen (ecg-fm-benchmarking; arXiv 2605.12241): it finds what
    the linear probe's mean over the steps averages away, and unlike fine-tuning it changes no weight of the encoder.
    """

    def __init__(self, encoder: Encoder, classes: int, settings: Attention) -> None:
        super().__init__()
        width = encoder.config.output
        self.encoder = encoder.requires_grad_(False)
        self.norm = nn.LayerNorm(width)
        self.query = nn.Parameter(torch.randn(width) / width**0.5)  # (K,)
        self.keys, self.values = nn.Linear(width, width), nn.Linear(width, width)
        self.classify = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, C) of windows (B, S, L)."""
        with torch.no_grad():
            steps = self.encoder.eval()(x)  # (B, S', K)
        steps = self.norm(steps)
        query = self.query.expand(len(steps), 1, -1)  # (B, 1, K)
        gathered = F.scaled_dot_product_attention(query, self.keys(steps), self.values(steps))  # (B, 1, K)
        logits: Tensor = self.classify(gathered[:, 0])  # (B, C)
        return logits


CLASSIFIERS: dict[type, Any] = {Finetune: Classifier, Supervised: BenchmarkClassifier, Attention: AttentionHead}


def finetune(
    encoder: Encoder, task: Task, settings: Finetune | Attention | Supervised, *, seed: int, precision: str
) -> Outcome:
    """Train a copy of the encoder with a new head on the labelled windows, and predict the test windows.

    Each learning rate is trained with, and the lowest of the best is used. Those from which on the loss is not finite
    are left out; raises TrainingStopped where that is the lowest.
    """
    trained: list[tuple[nn.Module, int, list[float]]] = []
    for rate in settings.lr:
        try:
            trained.append(train(encoder, task, settings, rate, seed=seed, precision=precision))
        except TrainingStopped:
            if not trained:
                raise
            break
    by_rate = [max(scores) for *_, scores in trained]
    best = int(np.argmax(by_rate))
    model, epoch, scores = trained[best]
    probability = predict(model, task.test.signal, task.multi, precision)
    validation = predict(model, task.validation.signal, task.multi, precision)
    name = f"validation_{task.criterion}"
    training = {"lr": settings.lr[best], "best_epoch": epoch, name: scores, f"{name}_by_lr": by_rate}
    return Outcome(probability, validation, training)


def train(
    encoder: Encoder, task: Task, settings: Finetune | Attention | Supervised, rate: float, *, seed: int, precision: str
) -> tuple[nn.Module, int, list[float]]:
    """Train a copy of the encoder with a new head at a rate: the model of the best epoch, that epoch, and its scores.

    With settings of supervised training under fastai's one-cycle schedule, which is torch's default, and with the last
    epoch, else at a constant rate and with the first of the best epochs. Raises TrainingStopped on a non-finite loss.
    """
    torch.manual_seed(stream("head", seed))
    model = CLASSIFIERS[type(settings)](copy.deepcopy(encoder), task.train.target.shape[1], settings)
    model.to(task.train.signal.device)
    section = type(settings).__name__.lower()
    source = task.crops or task.train
    one_cycle = isinstance(settings, Supervised)
    least = getattr(settings, "least_updates", 1)
    betas = (0.95, 0.99) if one_cycle else (0.9, 0.999)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=betas, weight_decay=settings.weight_decay)
    if one_cycle:
        updates = settings.epochs * len(batches_of(len(source), settings.batch_size, least, seed=seed, epoch=0))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, updates)
    scores: list[float] = []
    for epoch in range(settings.epochs):
        torch.manual_seed(stream(section, seed, epoch))
        model.train()
        for batch in batches_of(len(source), settings.batch_size, least, seed=seed, epoch=epoch):
            signal, target = source.draw(batch.to(source.signal.device))  # (b, S, L), (b, C)
            loss = update(model, optimiser, signal, target, task.multi, precision)
            if one_cycle:
                schedule.step()
        if not torch.isfinite(loss):
            raise TrainingStopped(
                f"{section}: the loss was {loss.item()} in epoch {epoch + 1}; lower --set {section}.lr={rate}"
            )
        if one_cycle and epoch + 1 < settings.epochs:
            continue
        score = validation_score(predict(model, task.validation.signal, task.multi, precision), task)
        if not scores or score > max(scores):
            best_state = copy.deepcopy(model.state_dict())
            best_epoch = epoch + 1
        scores.append(score)
    model.load_state_dict(best_state)
    return model, best_epoch, scores


def batches_of(windows: int, batch_size: int, least: int, *, seed: int, epoch: int) -> list[Tensor]:
    """Shuffle an epoch's window indices into batches (b,): whole passes, until there are `least` batches.

    None is of one window, of which batch normalisation has no variance: a last single window joins the batch before,
    and one that is alone is repeated.
    """
    if windows == 1:
        return [torch.zeros(2, dtype=torch.long)] * least
    batches: list[Tensor] = []
    passes = 0
    while len(batches) < least:
        parts = (seed, epoch, passes) if passes else (seed, epoch)
        generator = torch.Generator().manual_seed(stream("finetune-order", *parts))
        starts = list(range(batch_size, windows - 1, batch_size))  # of the second batch and those after it
        batches += torch.tensor_split(torch.randperm(windows, generator=generator), starts)
        passes += 1
    return batches


def update(
    model: nn.Module, optimiser: Optimizer, signal: Tensor, target: Tensor, multi: bool, precision: str
) -> Tensor:
    """Update a model on a batch; returns its cross-entropy or, with several labels, mean binary cross-entropy."""
    with autocast(signal.device, precision):
        logits = model(signal.float()).float()  # (B, C)
    loss = (F.binary_cross_entropy_with_logits if multi else F.cross_entropy)(logits, target)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss


def predict(model: nn.Module, signal: Tensor, multi: bool, precision: str) -> Floats:
    """Compute class probabilities (n, C) of windows, in evaluation mode."""
    return probabilities(in_batches(model, model, signal, precision), multi)


def probabilities(logits: Tensor, multi: bool) -> Floats:
    """Give the class probabilities (n, C) of logits."""
    return (logits.sigmoid() if multi else logits.softmax(dim=1)).cpu().numpy()


@torch.no_grad()
def in_batches(model: nn.Module, function: Callable[[Tensor], Tensor], signal: Tensor, precision: str) -> Tensor:
    """Apply a function of the model to windows (n, S, L), in evaluation mode: (n, ...) in float32."""
    model.eval()
    chunks = torch.split(signal, EVALUATION_BATCH[signal.device.type])
    with autocast(signal.device, precision):
        return torch.cat([function(chunk.float()).float() for chunk in chunks])


SCORES = {"f1": f1, "auroc": auroc, "log_likelihood": log_likelihood}
"""Criterion of a choice -> its score of truth and probabilities, higher is better."""


def validation_score(probability: Floats, task: Task, criterion: str = "") -> float:
    """Score the validation set in the task's unit (windows or recordings), higher is better; 0 if undefined.

    criterion: a name in `SCORES`; by default the task's.
    """
    truth = task.validation.truth()  # (n, C)
    if task.unit == RECORDING:
        probability, truth, _ = per_recording(probability, truth, task.validation.recording, task.pool)
    score = SCORES[criterion or task.criterion]
    return float(np.nan_to_num(score(truth, probability, task.multi)))
