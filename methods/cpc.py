"""CPC: from the past of a window, tell its next embedded steps from other steps (van den Oord et al. 2018, Eq. 4).

The context is the encoder's output at a random cut, with all that comes after the cut hidden; one linear map per step
ahead predicts the embedded input there. Negatives are steps after the cuts of all windows. An encoder needs two
embedded steps; with few, at most half of them are predicted.
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, PretrainMethod, Recipe
from methods.encoders.base import Encoder, output_step, refuse_single, width_of
from methods.parts.hyperparameters import Choice, Count
from methods.parts.layers import dropout


@dataclass(frozen=True)
class CPCConfig(MethodConfig):
    """Hyperparameters of CPC; the recipe is the paper's, the rest of its form for ECGs (Mehari & Strodthoff 2022)."""

    pairing: Pairing = "same"
    horizon: Annotated[Count, Choice((4, 12, 24))] = 12
    """Embedded steps predicted; at most half of those there are."""
    negatives: Count = 128
    """Wrong steps beside each right one."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Dot products are divided by it; they are not normalised."""
    recipe: Recipe = Recipe("adam", lr=2e-4, weight_decay=0.0, schedule="constant", batch_size=64)


def cpc_loss(predicted: Tensor, encoded: Tensor, negatives: Tensor, steps: int, temperature: float) -> Tensor:
    """Compute InfoNCE of each position's prediction: 0-d, mean over the batch and *sum* over positions (CPC, Eq. 4).

    predicted, encoded: (B, T, E), raw dot products; position i predicts encoded step i + `steps`. negatives:
    (T - steps, B, N) whole numbers, wrong candidates of each prediction as rows of `encoded.reshape(-1, E)`.
    """
    precision = torch.promote_types(encoded.dtype, torch.float32)
    encoded = encoded.to(precision)
    predicted = predicted.to(precision)
    positions = encoded.shape[1] - steps
    right = encoded[:, steps:].transpose(0, 1).unsqueeze(2)  # (T - steps, B, 1, E)
    candidates = torch.cat([right, encoded.flatten(0, 1)[negatives.long()]], 2)  # (T - steps, B, 1 + N, E)
    queries = predicted[:, :positions].transpose(0, 1).unsqueeze(2)  # (T - steps, B, 1, E)
    logits = (queries * candidates).sum(-1) / temperature  # (T - steps, B, 1 + N)
    return -logits.log_softmax(-1)[..., 0].mean(1).sum()


def other_steps(batch: int, steps: int, count: int, device: torch.device) -> Tensor:
    """Draw rows of (B * T) other than the right one, where each of T steps predicts the next: (T - 1, B, N)."""
    right = torch.arange(batch * steps, device=device).view(batch, steps)[:, 1:].T.unsqueeze(2)  # (T - 1, B, 1)
    drawn = torch.randint(batch * steps - 1, (steps - 1, batch, count), device=device)  # (T - 1, B, N)
    return drawn + (drawn >= right)


class CPC(PretrainMethod):
    """Contrastive predictive coding."""

    name, title, Config = "cpc", "CPC", CPCConfig

    def __init__(self, encoder: Encoder, config: CPCConfig) -> None:
        super().__init__(encoder, config)
        embedded_width = width_of(encoder, encoder.embed)
        self.prediction_head = nn.Linear(encoder.config.output, config.horizon * embedded_width, bias=False)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of one cut per window. Raises ValueError if the encoder has a single embedded step."""
        embedded = self.encoder.embed(batch.x1)  # (B, T, E)
        count, steps, width = embedded.shape
        refuse_single(self.name, steps)
        horizon = min(self.config.horizon, steps // 2)
        cut = torch.randint(1, steps - horizon + 1, (count, 1), device=embedded.device)  # (B, 1)
        past = torch.arange(steps, device=embedded.device) < cut  # (B, T)
        predicted = self.prediction_head(self.context(embedded, past, cut)).view(count, -1, width)  # (B, H, E)
        around = cut - 1 + torch.arange(horizon + 1, device=cut.device)  # (B, H + 1) the last seen step and the next
        encoded = embedded.gather(1, around.unsqueeze(2).expand(-1, -1, width))  # (B, H + 1, E)
        negatives = other_steps(len(encoded), horizon + 1, self.config.negatives, cut.device)  # (H, B, N)
        return cpc_loss(predicted, encoded, negatives, steps=1, temperature=self.config.temperature)

    def context(self, embedded: Tensor, past: Tensor, cut: Tensor) -> Tensor:
        """Compute the encoder's output at the last step before the cut, from the past alone: (B, K)."""
        out = dropout(self.encoder.steps(embedded * past.unsqueeze(2)), self.encoder.dropout, self.training)
        at = output_step(cut - 1, embedded.shape[1], out.shape[1])  # (B, 1)
        return out.gather(1, at.unsqueeze(2).expand(-1, -1, out.shape[2])).squeeze(1)  # (B, K)
