"""Methods that read reports: ETP (Liu et al. 2023) and CLIP-Report (MERL's losses, Liu et al. 2024).

The text model is frozen: the embeddings of reports come with the batch. In both an ECG and its report attract and those
of other ECGs repel, in both directions.

    ETP            one linear layer per side projects to a common space
    CLIP-Report    cross-modal alignment (CMA) so, beside uni-modal alignment (UMA): two dropouts of the ECG's
                   representation attract too
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.hyperparameters import Choice, LossWeight, Share, Temperature
from methods.parts.losses import info_nce, unit_length

TEXT_HIDDEN = 256


@dataclass(frozen=True)
class ETPConfig(MethodConfig):
    """Hyperparameters of ETP."""

    pairing: Pairing = "same"
    temperature: Temperature = 0.07
    text_width: Annotated[int, Field(ge=1)] = 768
    """Width of a report's embedding."""
    recipe: Recipe = field(
        default_factory=lambda: Recipe("adam", lr=2e-3, weight_decay=1e-5, schedule="constant", batch_size=128)
    )


@dataclass(frozen=True)
class ClipReportConfig(MethodConfig):
    """Hyperparameters of CLIP-Report; the defaults are MERL's."""

    pairing: Pairing = "same"
    temperature: Temperature = 0.07
    text_width: Annotated[int, Field(ge=1)] = 768
    """Width of a report's embedding."""
    latent_dropout: Annotated[Share, Choice((0.05, 0.1, 0.2))] = 0.1
    """Of the two latent views, whose difference it is beside their linear layers."""
    uma_weight: LossWeight = 1.0
    """Of the uni-modal loss; 0 leaves it out."""
    recipe: Recipe = field(default_factory=lambda: Recipe(lr=2e-4, weight_decay=1e-5, batch_size=512))


def clip_loss(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """Sum InfoNCE in both directions: 0-d (MERL, Eq. 1 to 4). z1, z2: (B, K), normalised here."""
    z1, z2 = unit_length(z1), unit_length(z2)  # (B, K), (B, K)
    return info_nce(z1, z2, temperature) + info_nce(z2, z1, temperature)


def report_of(batch: Batch, method: str, width: int) -> Tensor:
    """Return a batch's embedded reports, (B, width). Raises ValueError if they are missing or of another width."""
    if batch.text is None or batch.text.shape[1] != width:
        given = "none" if batch.text is None else f"{batch.text.shape[1]} wide"
        raise ValueError(
            f"{method}: the batch's text is {given}, methods.{method}.text_width = {width}; set it to the width of "
            "pretrain.text_embedder"
        )
    return batch.text


class ETP(PretrainMethod):
    """ECG-text pretraining."""

    name, title, Config = "etp", "ETP", ETPConfig
    needs_text = True
    encoder_passes = 3.0

    def __init__(self, encoder: Encoder, config: ETPConfig) -> None:
        super().__init__(encoder, config)
        width = encoder.config.output
        self.ecg_projection = nn.Linear(width, width)
        self.text_projection = nn.Linear(config.text_width, width)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the mean of both directions of first views and texts (CLIP, Fig. 3). Raises as `report_of`."""
        text = self.text_projection(report_of(batch, self.name, self.config.text_width))  # (B, K)
        ecg = self.ecg_projection(self.encoder.pooled(batch.x1))  # (B, K)
        return clip_loss(ecg, text, self.config.temperature) / 2


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
        """CMA + UMA of the first views and texts. Raises as `report_of`."""
        text = self.text_projection(report_of(batch, self.name, self.config.text_width))  # (B, K)
        pooled = self.encoder.pooled(batch.x1)  # (B, K)
        latent = (F.dropout(view(pooled), self.config.latent_dropout, self.training) for view in self.latent_views)
        ecg, z1, z2 = self.ecg_projection(pooled), *latent  # (B, K) each
        cma, uma = clip_loss(ecg, text, self.config.temperature), clip_loss(z1, z2, self.config.temperature)
        loss: Tensor = cma + self.config.uma_weight * uma
        return loss
