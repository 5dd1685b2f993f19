"""JEPA: from the visible steps of a window, predict what a momentum copy makes of the hidden ones (ECG-JEPA, Eq. 1).

Hidden are blocks of time, the same in all windows of a batch. The context encoder's embedded input is 0 there, so that
any encoder can be trained; the target encoder sees all, and its outputs pass a LayerNorm without parameters. Smooth L1
on the hidden steps. Kim 2024; Assran et al. 2023 (I-JEPA).
"""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.base import Batch, MethodConfig, Pairing, Recipe
from methods.encoders.base import Encoder, output_step, refuse_single
from methods.momentum import MomentumMethod
from methods.parts.hyperparameters import Choice, Count, Momentum, Share
from methods.parts.layers import mlp_head


@dataclass(frozen=True)
class JEPAConfig(MethodConfig):
    """Hyperparameters of JEPA; masks, momentum and recipe are those of ECG-JEPA's released code."""

    pairing: Pairing = "same"
    momentum: Momentum = 0.996
    """Momentum of the target at the start of training; it rises to 1 in equal steps."""
    blocks: Annotated[Count, Choice((2, 4, 6))] = 4
    """Stretches hidden in a window; they may overlap."""
    block_share: Annotated[Share, Choice((0.1, 0.2, 0.3))] = 0.2
    """Length of each, as a share of the window."""
    prediction_layers: Count = 2
    """Layers of the predictor, which acts on each step by itself."""
    recipe: Recipe = Recipe(lr=2.5e-5, weight_decay=0.05, batch_size=128)


def jepa_loss(prediction: Tensor, target: Tensor) -> Tensor:
    """Compute smooth L1 (beta 1) to targets that are normalised here over K: 0-d. prediction, target: (..., K)."""
    precision = torch.promote_types(prediction.dtype, torch.float32)
    normalised = F.layer_norm(target.to(precision), target.shape[-1:])  # (..., K)
    return F.smooth_l1_loss(prediction.to(precision), normalised)


def hidden_steps(steps: int, blocks: int, share: float) -> Tensor:
    """Draw the steps covered by random blocks, at least one and not all: (S',) bool, on the CPU."""
    length = min(max(1, int(share * steps)), steps - 1)
    start = torch.randint(steps - length + 1, (blocks, 1))  # (N, 1)
    step = torch.arange(steps)  # (S',)
    hidden = ((step >= start) & (step < start + length)).any(0)  # (S',)
    hidden[torch.randint(steps, ())] &= ~hidden.all()
    return hidden


def hide(embedded: Tensor, hidden: Tensor) -> Tensor:
    """Set the embedded steps of hidden output steps to zero: (B, T, D), (S',) bool on the CPU -> (B, T, D)."""
    steps = embedded.shape[1]
    visible = ~hidden[output_step(torch.arange(steps), steps, len(hidden))]  # (T,)
    return embedded * visible.to(embedded.device)[:, None]  # (B, T, D)


class JEPA(MomentumMethod):
    """Joint-embedding predictive architecture."""

    name, title, Config = "jepa", "JEPA", JEPAConfig
    encoder_passes = 5.0  # measured: one window, forth and back and forth, without the pooled shortcut

    def __init__(self, encoder: Encoder, config: JEPAConfig) -> None:
        prediction_head = mlp_head(encoder.config.output, config.prediction_layers)
        super().__init__(encoder, config, nn.Identity(), prediction_head)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss on the hidden steps. Raises ValueError if the encoder gives a single step."""
        with torch.no_grad():
            target = self.momentum_encoder(batch.x1)  # (B, S', K)
        refuse_single(self.name, target.shape[1])
        hidden = hidden_steps(target.shape[1], self.config.blocks, self.config.block_share)  # (S',)
        context = self.encoder(batch.x1, lambda embedded: hide(embedded, hidden))  # (B, S', K)
        at = hidden.nonzero().flatten().to(target.device)  # (H,)
        return jepa_loss(self.prediction_head(context[:, at]), target[:, at])

    def momentum(self) -> Tensor:
        """Give the momentum of the next move, which rises to 1 in equal steps."""
        return 1 - (1 - self.config.momentum) * (1 - self.share_done())
