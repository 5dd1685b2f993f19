"""Fine-tuning (paper, Implementation Details): encoder + head, best epoch by validation macro-F1, one test pass.

The head's initial weights and the batch order depend on the seed alone. Of recordings that are kept whole, each update
sees crops drawn anew; they are judged by crops at a fixed stride.

Supervised training from scratch, as the PTB-XL benchmark does (Strodthoff et al. 2020, fastai's one-cycle).

AdamW under a one-cycle schedule (Smith 2018), no augmentation, cross-entropy or, with several labels, binary
cross-entropy; the head on [maximum, mean] over time of the encoder's output. The weights of the last epoch predict:
nothing is chosen on the validation set. Of recordings that are kept whole, each update sees crops drawn anew.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmark.config.schema import Attention, Finetune, Supervised
from benchmark.data.task import Crops, Task, Windows
from benchmark.machine.device import seed_torch, stream
from benchmark.results.metrics import macro_f1, per_recording
from benchmark.results.names import RECORDING
from benchmark.training.pretrain import TrainingStopped, autocast
from methods.encoders.base import Encoder

FINETUNE_VERSION = 3
EVALUATION_BATCH = {"cpu": 128, "cuda": 4096}
"""Windows per evaluation batch, by device type: fits a CPU's cache, few launches on a GPU."""


@dataclass
class Outcome:
    """Test probabilities, training facts and notes of a cell."""

    probability: NDArray[np.float32]  # (n_test, C)
    training: dict[str, Any]
    notes: list[str] = field(default_factory=list)


class Classifier(nn.Module):
    """Encoder and head K-hidden-C with batch normalisation and ReLU, dropout on the logits (PMQ)."""

    def __init__(self, encoder: Encoder, classes: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(
            nn.Linear(encoder.config.output, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, classes),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of windows (B, S, L)."""
        logits: Tensor = self.head(self.encoder.pooled(x))  # (B, C)
        return logits


def finetune(encoder: Encoder, task: Task, settings: Finetune, *, seed: int, precision: str) -> Outcome:
    """Train a copy of the encoder with a new head and predict the test windows with its best epoch.

    Raises TrainingStopped on a non-finite loss.
    """
    model = new_classifier(encoder, task.train.target.shape[1], settings, seed=seed)
    return trained(model, task, settings, "finetune", seed=seed, precision=precision)


def trained(
    model: nn.Module, task: Task, settings: Finetune | Attention, section: str, *, seed: int, precision: str
) -> Outcome:
    """Train a classifier on the labelled windows and predict the test windows with its best epoch.

    section: of the config, that has the settings. Raises TrainingStopped on a non-finite loss.
    """
    started = time.perf_counter()
    model = model.to(task.train.signal.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    best_state: dict[str, Any] = {}
    scores: list[float] = []
    notes: list[str] = []
    source = task.train if task.crops is None else task.crops
    if len(source) == 1:
        notes.append("one labelled window: repeated, since batch normalisation needs two")
    for epoch in range(settings.epochs):
        seed_torch(section, seed, epoch)
        model.train()
        for batch in updates_of(len(source), settings, seed=seed, epoch=epoch):
            loss = update(model, optimiser, source, batch, task.multi, precision)
        if not torch.isfinite(loss):
            raise TrainingStopped(
                f"{section}: the loss was {loss.item()} in epoch {epoch + 1}; lower --set {section}.lr={settings.lr}"
            )
        score = validation_score(predict(model, task.validation.signal, task.multi, precision), task)
        if not scores or score > max(scores):
            best_state = copy.deepcopy(model.state_dict())
        scores.append(score)
    model.load_state_dict(best_state)
    best_epoch = scores.index(max(scores)) + 1
    training = {"best_epoch": best_epoch, "validation_f1": scores, "seconds": time.perf_counter() - started}
    return Outcome(predict(model, task.test.signal, task.multi, precision), training, notes)


def new_classifier(encoder: Encoder, classes: int, settings: Finetune, *, seed: int) -> Classifier:
    """A classifier around a copy of the encoder with the settings' dropout; the head's weights depend on the seed."""
    seed_torch("head", seed)
    copied = copy.deepcopy(encoder)
    copied.dropout = settings.encoder_dropout or 0.0
    return Classifier(copied, classes, settings.head_hidden, settings.dropout)


def updates_of(windows: int, settings: Finetune | Attention, *, seed: int, epoch: int) -> Iterator[Tensor]:
    """Batches (b,) of window indices of an epoch: whole passes, until there are `least_updates`."""
    per_pass = len(batches_of(windows, settings.batch_size, seed=seed, epoch=epoch))
    for again in range(math.ceil(settings.least_updates / per_pass)):
        yield from batches_of(windows, settings.batch_size, seed=seed, epoch=epoch, again=again)


def batches_of(windows: int, batch_size: int, *, seed: int, epoch: int, again: int = 0) -> list[Tensor]:
    """Shuffled batches of a pass, without batches of one: a last single window joins the batch before, a lone one is
    repeated."""
    if windows == 1:
        return [torch.zeros(2, dtype=torch.long)]
    parts = (seed, epoch, again) if again else (seed, epoch)
    generator = torch.Generator().manual_seed(stream("finetune-order", *parts))
    batches = list(torch.split(torch.randperm(windows, generator=generator), batch_size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        last = batches.pop()
        batches[-1] = torch.cat([batches[-1], last])
    return batches


def update(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    source: Windows | Crops,
    batch: Tensor,
    multi: bool,
    precision: str,
) -> Tensor:
    """One update on numbered windows (b,); returns the loss (0-d) without synchronising."""
    signal, target = source.draw(batch.to(source.signal.device))  # (b, S, L), (b, C)
    loss = loss_of(model, signal, target, multi, precision)
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss.detach()


def loss_of(model: nn.Module, signal: Tensor, target: Tensor, multi: bool, precision: str) -> Tensor:
    """Cross-entropy (single label) or mean binary cross-entropy (multi-label) of a batch, in float32."""
    with autocast(signal.device, precision):
        logits = model(signal.float()).float()  # (B, C)
    if multi:
        return F.binary_cross_entropy_with_logits(logits, target)
    return F.cross_entropy(logits, target)


def predict(model: nn.Module, signal: Tensor, multi: bool, precision: str) -> NDArray[np.float32]:
    """Class probabilities (n, C) of windows, in evaluation mode."""
    return probabilities(model, signal, multi, precision).cpu().numpy()


def probabilities(model: nn.Module, signal: Tensor, multi: bool, precision: str) -> Tensor:
    """Those of `predict` on the device, which is not waited for."""
    logits = in_batches(model, model, signal, precision)  # (n, C)
    return logits.sigmoid() if multi else logits.softmax(dim=1)


@torch.no_grad()
def in_batches(model: nn.Module, function: Callable[[Tensor], Tensor], signal: Tensor, precision: str) -> Tensor:
    """What a function of the model gives for windows (n, S, L), in evaluation mode: (n, ...) in float32."""
    model.eval()
    outputs = []
    for chunk in torch.split(signal, EVALUATION_BATCH[signal.device.type]):
        with autocast(signal.device, precision):
            outputs.append(function(chunk.float()).float())
    return torch.cat(outputs)


def validation_score(probability: NDArray[np.float32], task: Task) -> float:
    """Macro-F1 on the validation set in the task's unit (windows or recordings); 0 if undefined."""
    truth = task.validation.target.cpu().numpy().astype(np.int64)  # (n, C)
    if task.unit == RECORDING:
        probability, truth, _ = per_recording(probability, truth, task.validation.recording, task.pool)
    return macro_f1(probability, truth, multi=task.multi) or 0.0


SUPERVISED_VERSION = 2
BETAS = (0.95, 0.99)
"""Of AdamW, as in fastai; the schedule lowers the first to .85 while the learning rate is high."""
MOMENTA = (0.85, 0.95)
WARMUP_SHARE, START_DIVISOR, END_DIVISOR = 0.3, 25.0, 1e4
"""Of the one-cycle schedule, as in fastai: share of rising updates, highest / first and first / last learning rate."""


class BenchmarkClassifier(nn.Module):
    """Encoder and the head of the PTB-XL benchmark: pooling [maximum, mean], 2K-hidden-C."""

    def __init__(self, encoder: Encoder, classes: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        width = 2 * encoder.config.output
        self.head = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.Dropout(dropout / 2),
            nn.Linear(width, hidden),
            nn.ReLU(),
            nn.BatchNorm1d(hidden),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of windows (B, S, L)."""
        steps = self.encoder(x)  # (B, S', K)
        pooled = torch.cat([steps.amax(dim=1), steps.mean(dim=1)], dim=1)  # (B, 2K)
        logits: Tensor = self.head(pooled)  # (B, C)
        return logits


def supervise(encoder: Encoder, task: Task, settings: Supervised, *, seed: int, precision: str) -> Outcome:
    """Train a copy of the encoder with a new head on the labelled windows and predict the test windows.

    Raises TrainingStopped on a non-finite loss.
    """
    started = time.perf_counter()
    model = new_model(encoder, task.train.target.shape[1], settings, seed=seed).to(task.train.signal.device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, betas=BETAS, weight_decay=settings.weight_decay)
    source = task.train if task.crops is None else task.crops
    per_epoch = len(batches_of(len(source), settings.batch_size, seed=seed, epoch=0))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.lr, settings.epochs * per_epoch, pct_start=WARMUP_SHARE, div_factor=START_DIVISOR,
        final_div_factor=END_DIVISOR, base_momentum=MOMENTA[0], max_momentum=MOMENTA[1],
    )  # fmt: skip
    losses: list[float] = []
    for epoch in range(settings.epochs):
        seed_torch("supervised", seed, epoch)
        model.train()
        summed = torch.zeros((), device=source.signal.device)
        for batch in batches_of(len(source), settings.batch_size, seed=seed, epoch=epoch):
            summed += update(model, optimiser, source, batch, task.multi, precision)
            schedule.step()
        losses.append(float(summed) / per_epoch)
        if not torch.isfinite(summed):
            raise TrainingStopped(
                f"supervised: the loss was {losses[-1]} in epoch {epoch + 1}; lower --set supervised.lr={settings.lr}"
            )
    score = validation_score(predict(model, task.validation.signal, task.multi, precision), task)
    training = {"loss": losses, "validation_f1": [score], "seconds": time.perf_counter() - started}
    return Outcome(predict(model, task.test.signal, task.multi, precision), training)


def new_model(encoder: Encoder, classes: int, settings: Supervised, *, seed: int) -> BenchmarkClassifier:
    """A classifier around a copy of the encoder; the head's weights depend on the seed."""
    seed_torch("head", seed)
    return BenchmarkClassifier(copy.deepcopy(encoder), classes, settings.head_hidden, settings.dropout)
