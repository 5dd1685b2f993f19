"""The contract of an encoder: its configuration, its outputs, and where a mask and dropout act.

    encoder(x, mask)          (B, S, L) -> (B, S', K), S' <= S: representations in the order of time
    encoder.pooled(x, mask)   (B, S, L) -> (B, K), what downstream tasks read

An encoder defines `embed` and `steps`. A mask acts between them and never sees leads; dropout acts after them. All
state is in parameters and buffers: `state_dict()` and the config restore an encoder. One of tokens can also leave
tokens out, for masked reconstruction (`patches`, `encode_tokens`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Annotated, Any, ClassVar

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from methods.parts.hyperparameters import Share
from methods.parts.layers import Mask, dropout

Size = Annotated[int, Field(ge=1)]
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
MEAN = "mean over time"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class EncoderConfig:
    """Sizes every encoder has. An encoder subclasses this and documents its own; bad values raise ValueError."""

    leads: Size = 12
    """L, the leads of a window."""
    output: Size
    """K, the width of a representation."""
    dropout: Share = 0.0
    """Dropout on the output of each time step, in training mode; a method sets its own while pretraining."""

    def content(self) -> dict[str, Any]:
        """Return what determines the encoder's numbers, for content keys; without dropout, which a method sets."""
        return asdict(replace(self, dropout=0.0))

    def check_length(self, samples: int) -> None:
        """Raise ValueError, with the remedy, where the encoder cannot take windows of so many samples."""

    def takes(self, samples: int) -> bool:
        """Tell whether `check_length` raises nothing."""
        try:
            self.check_length(samples)
        except ValueError:
            return False
        return True

    @classmethod
    def small(cls) -> EncoderConfig:
        """Return sizes for checks that run in seconds; the defaults unless overridden."""
        return cls()  # type: ignore[call-arg]


class Encoder(nn.Module):
    """ECG windows -> representations. Subclasses set `name` and `Config`, and define `embed` and `steps`."""

    name: ClassVar[str]
    Config: ClassVar[type[EncoderConfig]]
    pooling: ClassVar[str] = MEAN
    """Rule by which `pooled` follows from `forward`; set by an encoder whose `pooled` is not the mean."""
    pooled_only: ClassVar[tuple[str, ...]] = ()
    """Names of parameters that act on `pooled` alone; a method that uses `forward` alone leaves them as they are."""

    config: EncoderConfig

    def __init__(self, config: EncoderConfig | None = None) -> None:
        super().__init__()
        self.config = config or self.Config()  # type: ignore[call-arg]
        self.dropout = self.config.dropout

    def embed(self, x: Tensor) -> Tensor:
        """Compute the embedded input, on which a mask acts: (B, S, L) -> (B, S, D)."""
        raise NotImplementedError(f"{type(self).__name__}.embed: give the embedded input (B, S, D)")

    def steps(self, embedded: Tensor) -> Tensor:
        """Compute the representations of the embedded input, before dropout: (B, S, D) -> (B, S', K)."""
        raise NotImplementedError(f"{type(self).__name__}.steps: give the representations (B, S', K)")

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Compute the representation of each time step: (B, S, L) -> (B, S', K). `mask` acts on the embedded input."""
        return dropout(self.steps(self.masked(x, mask)), self.dropout, self.training)  # (B, S', K)

    def pooled(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Compute the representation of a window, the mean over time of `forward`: (B, S, L) -> (B, K)."""
        steps: Tensor = self(x, mask)  # (B, S', K)
        return steps.mean(1)  # (B, K)

    def patches(self, x: Tensor) -> Tensor:
        """Return each token's samples: (B, S, L) -> (B, N, P). Raises ValueError if there are no tokens."""
        raise ValueError(f"encoder {self.name} has no tokens to hide; use an encoder with tokens, e.g. vit1d")

    def encode_tokens(self, embedded: Tensor, visible: Tensor) -> Tensor:
        """Encode tokens that see each other alone: (B, N, D), (B, M) int64 -> (B, M, K), before dropout.

        visible: indices of tokens, in the order of the result.
        """
        raise NotImplementedError(f"{type(self).__name__}.encode_tokens: give the tokens' representations (B, M, K)")

    def masked(self, x: Tensor, mask: Mask | None) -> Tensor:
        """Return the masked embedded input: (B, S, L) -> (B, S, D)."""
        embedded = self.embed(x)  # (B, S, D)
        return embedded if mask is None else mask(embedded)  # (B, S, D)

    @classmethod
    def external_files(cls) -> dict[str, Any]:
        """Return what an encoder with weights from elsewhere brings with it, for content keys; empty for all others."""
        return {}


@torch.no_grad()
def width_of(encoder: Encoder, read: Callable[[Tensor], Tensor]) -> int:
    """Compute the width of what `read`, e.g. `encoder.embed`, makes of a window. Draws nothing and changes no state.

    The window has the paper's 300 samples, or the next length that the encoder takes. Raises ValueError as `read`.
    """
    training = encoder.training
    encoder.eval()
    samples = next(samples for samples in (*range(300, 10_000), *range(1, 300)) if encoder.config.takes(samples))
    width = read(torch.zeros(1, samples, encoder.config.leads)).shape[-1]
    encoder.train(training)
    return width


def convolution(channels: int, width: int, kernel: int, stride: int = 1) -> nn.Conv1d:
    """Make a convolution that divides the length by its stride alone; no bias, since batch normalisation follows."""
    return nn.Conv1d(channels, width, kernel, stride, padding=kernel // 2, bias=False)


def output_step(embedded_step: Tensor, embedded_steps: int, output_steps: int) -> Tensor:
    """Compute the output step that an embedded step belongs to, elementwise.

    Counted from the end, so that a token in front of all others (ViT) shifts nothing.
    """
    return output_steps - 1 - (embedded_steps - 1 - embedded_step) * output_steps // embedded_steps


def output_stretch(start: float, stop: float, embedded_steps: int, output_steps: int) -> slice:
    """Return the output steps of a stretch of the embedded steps, in shares of the window; at least two."""
    first = min(math.floor(start * embedded_steps), embedded_steps - 1)
    last = max(math.ceil(stop * embedded_steps) - 1, first)
    begin, end = output_step(torch.tensor([first, last]), embedded_steps, output_steps).tolist()
    begin = min(begin, output_steps - 2)
    return slice(begin, max(end + 1, begin + 2))


def refuse_lazy(encoder: Encoder) -> None:
    """Raise ValueError for an encoder whose parameters are not there before its first window."""
    lazy = [name for name, parameter in encoder.named_parameters() if is_lazy(parameter)]
    if lazy:
        raise ValueError(f"{lazy[0]} is of a lazy layer, uninitialised before a window: use one with sizes, nn.Conv1d")


def refuse_single(method: str, steps: int) -> None:
    """Raise ValueError for an encoder with one step per window, of which a method can hide or predict none."""
    if steps < 2:
        raise ValueError(f"{method}: the encoder gives {steps} step per window, and 2 are needed; use another encoder")
