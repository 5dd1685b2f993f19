"""Supervised training from scratch, as the PTB-XL benchmark does (Strodthoff et al. 2020, fastai's one-cycle).

AdamW under a one-cycle schedule (Smith 2018), no augmentation, cross-entropy or, with several labels, binary
cross-entropy; the head on [maximum, mean] over time of the encoder's output. The weights of the last epoch predict:
nothing is chosen on the validation set. Of recordings that are kept whole, each update sees crops drawn anew.
"""

from __future__ import annotations

import copy
import time

import torch
from torch import Tensor, nn

from benchmark.config.sections.evaluate import Supervised
from benchmark.data.tasks.task import Task
from benchmark.machine.seeds import seed_torch
from benchmark.training.finetune import Outcome, batches_of, predict, update, validation_score
from benchmark.training.pretrain import TrainingStopped
from methods.encoders.base import Encoder

SUPERVISED_VERSION = 1
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
