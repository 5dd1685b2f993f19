"""ETP: an ECG and the embedding of its report attract, those of other ECGs repel, in both directions (Liu et al. 2023).

The text model is frozen: its embeddings come with the batch. One linear layer per side projects to a common space.
"""

from __future__ import annotations

from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder
from methods.parts.hyperparameters import Count, Temperature
from methods.parts.losses import info_nce, unit_length


@dataclass(frozen=True)
class ETPConfig(MethodConfig):
    """Hyperparameters of ETP."""

    pairing: Pairing = "same"
    temperature: Temperature = 0.07
    text_width: Count = 768
    """Width of a report's embedding."""
    recipe: Recipe = Recipe("adam", lr=2e-3, weight_decay=1e-5, schedule="constant", batch_size=128)


def symmetric_info_nce(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """Compute the mean of InfoNCE in both directions: 0-d (CLIP, Fig. 3). z1, z2: (B, K) of unit length."""
    return (info_nce(z1, z2, temperature) + info_nce(z2, z1, temperature)) / 2


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
        """Compute the loss of first views and texts. Raises ValueError if the text is missing or of another width."""
        report = report_of(batch, self.name, self.config.text_width)  # (B, E)
        ecg = unit_length(self.ecg_projection(self.encoder.pooled(batch.x1)))  # (B, K)
        text = unit_length(self.text_projection(report))  # (B, K)
        return symmetric_info_nce(ecg, text, self.config.temperature)
