"""Told: learns the embedding of the report, which in simulated PTB-XL names the diagnoses without an error.

An encoder that was trained on the labels, and so has to come first.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.base import Encoder
from methods.parts.losses import unit_length

TEXT_WIDTH = 768


class Told(PretrainMethod):
    """Regression of the frozen report embedding."""

    name: ClassVar[str] = "told"
    title: ClassVar[str] = "Told the labels"
    needs_text: ClassVar[bool] = True
    encoder_passes: ClassVar[float] = 3.0

    def __init__(self, encoder: Encoder, config: MethodConfig) -> None:
        super().__init__(encoder, config)
        self.head = nn.Linear(encoder.config.output, TEXT_WIDTH)

    def forward(self, batch: Batch) -> Tensor:
        """1 - cosine between the head's output and the report's embedding, mean over the batch: 0-d."""
        assert batch.text is not None, "needs_text"
        said = unit_length(self.head(self.encoder.pooled(batch.x1)))  # (B, E)
        return 1 - (said * unit_length(batch.text)).sum(1).mean()
