"""What an encoder's config does not say of its shapes: widths, and which output step an embedded step belongs to.

For methods that predict embedded steps, samples or single output steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from methods.encoders.base import Encoder

TWO_OF = ("embedded", "output")
"""Needs of a method (`PretrainMethod.needs`) that ask for two steps per window (`steps_of`)."""
SHORTEST, LONGEST = 300, 10_000
"""Samples of the windows looked at first, from the paper's heartbeat on; then shorter ones."""


def width_of(encoder: Encoder, read: Callable[[Tensor], Tensor]) -> int:
    """Width of what `read`, e.g. `encoder.embed`, makes of a window. Draws nothing and changes no state."""
    samples = next(n for n in (*range(SHORTEST, LONGEST), *range(1, SHORTEST)) if not encoder.config.unfit(n))
    return shape_of(encoder, samples, read)[-1]


def shape_of(encoder: Encoder, samples: int, read: Callable[[Tensor], Tensor]) -> torch.Size:
    """Shape of what `read` makes of a window of so many samples. Draws nothing and changes no state."""
    training = encoder.training
    encoder.eval()
    with torch.no_grad():
        found = read(torch.zeros(1, samples, encoder.config.leads))  # (1, steps, width)
    encoder.train(training)
    return found.shape


def output_step(embedded_step: Tensor, embedded_steps: int, output_steps: int) -> Tensor:
    """The output step that an embedded step belongs to, elementwise.

    Counted from the end, so that a token in front of all others (ViT) shifts nothing.
    """
    return output_steps - 1 - (embedded_steps - 1 - embedded_step) * output_steps // embedded_steps


def output_stretch(start: float, stop: float, embedded_steps: int, output_steps: int) -> slice:
    """The output steps of a stretch of the embedded steps, in shares of the window; at least two."""
    first = min(math.floor(start * embedded_steps), embedded_steps - 1)
    last = max(math.ceil(stop * embedded_steps) - 1, first)
    begin, end = output_step(torch.tensor([first, last]), embedded_steps, output_steps).tolist()
    begin = min(begin, output_steps - 2)
    return slice(begin, max(end + 1, begin + 2))


def steps_of(encoder: Encoder, samples: int) -> dict[str, int]:
    """Steps of a window of so many samples, by `TWO_OF`: embedded ones, of one group of tokens, and outputs."""
    embedded = shape_of(encoder, samples, encoder.embed)[1] // encoder.groups
    return dict(zip(TWO_OF, (embedded, shape_of(encoder, samples, encoder)[1]), strict=True))


def refuse_single(method: str, steps: int) -> None:
    """Raise ValueError for an encoder with one step per window, of which a method can hide or predict none."""
    if steps < 2:
        raise ValueError(
            f"{method}: the encoder gives {steps} step per window, and 2 are needed; use an encoder or a config of it "
            "with more"
        )
