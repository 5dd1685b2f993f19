"""CLIP-Report: an ECG and its report attract, and so do two dropouts of the ECG's representation (Liu et al. 2024).

MERL's two losses: cross-modal alignment (CMA) of the ECG with the embedded report, and uni-modal alignment (UMA) of
two latent views of the ECG; each is the sum of both directions. The text model is frozen.
"""

from __future__ import annotations

from typing import Annotated

import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.etp import ETPConfig, report_of, symmetric_info_nce
from methods.parts.hyperparameters import Choice, LossWeight, Share
from methods.parts.losses import unit_length

TEXT_HIDDEN = 256


@dataclass(frozen=True)
class ClipReportConfig(ETPConfig):
    """Hyperparameters of CLIP-Report; the defaults are MERL's."""

    latent_dropout: Annotated[Share, Choice((0.05, 0.1, 0.2))] = 0.1
    """Dropout of the two latent views, which differ by it and by their linear layers."""
    uma_weight: LossWeight = 1.0
    """Weight of the uni-modal loss; 0 leaves it out."""
    recipe: Recipe = Recipe(lr=2e-4, weight_decay=1e-5, batch_size=512)


def clip_loss(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """Sum of InfoNCE in both directions: 0-d (MERL, Eq. 1 to 4). z1, z2: (B, K), normalised here."""
    return 2 * symmetric_info_nce(unit_length(z1), unit_length(z2), temperature)


uma_loss = clip_loss
"""Uni-modal alignment: the same of two views of the ECG; z1, z2: (B, K), normalised there."""


class ClipReport(PretrainMethod):
    """Cross-modal and uni-modal alignment."""

    name, title, Config = "clip-report", "CLIP-Report", ClipReportConfig
    needs_text = True
    encoder_passes = 3.0

    def __init__(self, encoder: Encoder, config: ClipReportConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.ecg_projection = nn.Linear(width, width)
        self.latent_views = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(2)])
        self.text_projection = nn.Sequential(
            nn.Linear(config.text_width, TEXT_HIDDEN), nn.GELU(), nn.Linear(TEXT_HIDDEN, width)
        )

    def forward(self, batch: Batch) -> Tensor:
        """Compute CMA + UMA of first views and texts. Raises ValueError if the text is missing or of another width."""
        text = self.text_projection(report_of(batch, self.name, self.config.text_width))  # (B, K)
        pooled = self.encoder.pooled(batch.x1)  # (B, K)
        latent = (F.dropout(view(pooled), self.config.latent_dropout, self.training) for view in self.latent_views)
        ecg, z1, z2 = self.ecg_projection(pooled), *latent  # (B, K) each
        cma = clip_loss(ecg, text, self.config.temperature)
        uma = uma_loss(z1, z2, self.config.temperature)
        return cma + self.config.uma_weight * uma
