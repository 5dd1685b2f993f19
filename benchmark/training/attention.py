"""A frozen encoder under an attention head: between the linear probe and fine-tuning.

One learned query attends over the steps of a window, and a linear layer reads what it gathers, as ECG foundation models
are judged with their weights frozen (ecg-fm-benchmarking; arXiv 2605.12241). It finds what the mean over the steps,
which the linear probe reads, has averaged away.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmark.config.schema import Attention
from benchmark.data.task import Task
from benchmark.machine.device import seed_torch
from benchmark.training.finetune import Outcome, train_classifier
from methods.encoders.base import Encoder

ATTENTION_VERSION = 2


class AttentionHead(nn.Module):
    """A frozen encoder, and a query that attends over its normalised steps before a linear layer."""

    def __init__(self, encoder: Encoder, classes: int) -> None:
        super().__init__()
        width = encoder.config.output
        self.encoder = copy.deepcopy(encoder).requires_grad_(False)
        self.norm = nn.LayerNorm(width)
        self.query = nn.Parameter(torch.randn(width) / width**0.5)  # (K,)
        self.keys, self.values = nn.Linear(width, width), nn.Linear(width, width)
        self.classify = nn.Linear(width, classes)

    def train(self, mode: bool = True) -> AttentionHead:
        """As torch's, but for the encoder, which stays in evaluation mode."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of windows (B, S, L)."""
        with torch.no_grad():
            steps = self.encoder(x)  # (B, S', K)
        steps = self.norm(steps)
        query = self.query.expand(len(steps), 1, -1)  # (B, 1, K)
        gathered = F.scaled_dot_product_attention(query, self.keys(steps), self.values(steps))  # (B, 1, K)
        logits: Tensor = self.classify(gathered[:, 0])  # (B, C)
        return logits


def attend(encoder: Encoder, task: Task, settings: Attention, *, seed: int, precision: str) -> Outcome:
    """Train a head on the frozen encoder and predict the test windows with its best epoch.

    Raises TrainingStopped on a non-finite loss.
    """
    seed_torch("head", seed)
    model = AttentionHead(encoder, task.train.target.shape[1])
    return train_classifier(model, task, settings, "attention", seed=seed, precision=precision)
