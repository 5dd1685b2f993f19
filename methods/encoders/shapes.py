"""What an encoder's config does not say of its shapes: widths, and which output step an embedded step belongs to.

For methods that predict embedded steps, samples or single output steps.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from methods.encoders.base import Encoder

LENGTHS = (*range(300, 10_000), *range(1, 300))
"""Samples of the windows looked at, from the paper's heartbeat on."""


def width_of(encoder: Encoder, read: Callable[[Tensor], Tensor]) -> int:
    """Width of what `read`, e.g. `encoder.embed`, makes of a window. Draws nothing and changes no state."""
    samples = next(n for n in LENGTHS if not encoder.config.unfit(n))
    training = encoder.training
    encoder.eval()
    with torch.no_grad():
        found = read(torch.zeros(1, samples, encoder.config.leads))  # (1, steps, width)
    encoder.train(training)
    return found.shape[-1]


def output_step(embedded_step: Tensor, embedded_steps: int, output_steps: int) -> Tensor:
    """The output step that an embedded step belongs to, elementwise.

    Counted from the end, so that a token in front of all others (ViT) shifts nothing.
    """
    return output_steps - 1 - (embedded_steps - 1 - embedded_step) * output_steps // embedded_steps


def refuse_single(method: str, steps: int) -> None:
    """Raise ValueError for an encoder with one step per window, of which a method can hide or predict none."""
    if steps < 2:
        raise ValueError(
            f"{method}: the encoder gives {steps} step per window, and 2 are needed; use an encoder or a config of it "
            "with more"
        )
