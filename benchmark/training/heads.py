"""Classifiers on an encoder: the paper's, that of the PTB-XL benchmark, and an attention head on a frozen encoder.

Each takes an encoder, which it changes, the number of classes and the settings of its evaluation, and gives logits
(B, C) of windows (B, S, L).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmark.config.schema import Attention, Finetune, Supervised
from methods.encoders.base import Encoder


class Classifier(nn.Module):
    """Encoder and head K-hidden-C with batch normalisation and ReLU, dropout on the logits (PMQ)."""

    def __init__(self, encoder: Encoder, classes: int, settings: Finetune) -> None:
        super().__init__()
        self.encoder = encoder
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
        """Logits (B, C) of windows (B, S, L)."""
        logits: Tensor = self.head(self.encoder.pooled(x))  # (B, C)
        return logits


class BenchmarkClassifier(nn.Module):
    """Encoder and the head of the PTB-XL benchmark: pooling [maximum, mean], 2K-hidden-C (Strodthoff et al. 2020)."""

    def __init__(self, encoder: Encoder, classes: int, settings: Supervised) -> None:
        super().__init__()
        self.encoder = encoder
        width, hidden = 2 * encoder.config.output, settings.head_hidden
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
        """Logits (B, C) of windows (B, S, L)."""
        steps = self.encoder(x)  # (B, S', K)
        logits: Tensor = self.head(torch.cat([steps.amax(1), steps.mean(1)], dim=1))  # (B, C)
        return logits


class AttentionHead(nn.Module):
    """A frozen encoder, and a query that attends over its normalised steps before a linear layer.

    ECG foundation models are judged so with their weights frozen (ecg-fm-benchmarking; arXiv 2605.12241): between the
    linear probe, of whose mean over the steps it finds what that averages away, and fine-tuning.
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
        """Logits (B, C) of windows (B, S, L)."""
        with torch.no_grad():
            steps = self.encoder.eval()(x)  # (B, S', K)
        steps = self.norm(steps)
        query = self.query.expand(len(steps), 1, -1)  # (B, 1, K)
        gathered = F.scaled_dot_product_attention(query, self.keys(steps), self.values(steps))  # (B, 1, K)
        logits: Tensor = self.classify(gathered[:, 0])  # (B, C)
        return logits
