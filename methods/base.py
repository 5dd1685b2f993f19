"""The contract of a method: its batches, its configuration and its interface.

The loader makes the views, the method owns its momentum copies, queue and masks, and the trainer knows none of them:

    method.begin(updates); method(batch).backward(); optimiser.step(); method.after_step()

All state is in parameters and buffers; torch's generator is seeded from (seed, epoch, step) before each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.base import STRICT, Encoder
from methods.encoders.pretrained import PretrainedEncoder
from methods.parts.hyperparameters import Recipe as Recipe
from methods.parts.hyperparameters import Share
from methods.parts.layers import Mask

Pairing = Literal["neighbor", "same", "patient"]
"""Second view: next heartbeat; same heartbeat; one of another recording of the patient, else of the same recording."""
Batching = Literal["shuffled", "trial", "trial-fixed", "patient", "patient-once"]
"""shuffled: random windows; trial: whole pseudo-trials; trial-fixed: the same, with fixed batch members; patient: at
most one window per patient and batch; patient-once: the same, with one window per patient and epoch."""


class Batch(NamedTuple):
    """B pairs of windows with S time steps and L leads."""

    x1: Tensor  # (B, S, L) first view
    x2: Tensor  # (B, S, L) second view, as the method's `pairing` says
    patient: Tensor  # (B,) int64 >= 0; the loader counts from 1, which `pmq-released` relies on
    recording: Tensor  # (B,) int64 >= 0, the ECG the first window came from
    trial: Tensor  # (B,) int64 >= 0, the pseudo-trial of the first window
    text: Tensor | None = None  # (B, E) frozen report embedding


@dataclass(frozen=True, config=STRICT)
class MethodConfig:
    """Hyperparameters common to all methods. A method adds its own in a subclass; invalid values raise ValueError."""

    pairing: Pairing = "neighbor"
    batching: Batching = "shuffled"
    encoder_dropout: Share = 0.0
    """Dropout on the encoder's output while pretraining; downstream tasks set their own."""
    recipe: Recipe = Recipe()


class PretrainMethod(nn.Module):
    """A method around an encoder. Subclasses set `name`, `title` (in tables) and `Config`, and define `forward`."""

    name: ClassVar[str]
    title: ClassVar[str]
    Config: ClassVar[type[MethodConfig]] = MethodConfig
    version: ClassVar[int] = 1  # results version: raised with any change that can move the method's numbers
    trains: ClassVar[bool] = True  # False: `forward` is never called and the encoder keeps its initial weights
    needs_text: ClassVar[bool] = False
    """True: batches carry the embedded report; recordings without one are left out of the method's pretraining."""
    encoder_passes: ClassVar[float] = 4.0
    """Estimated cost of an update per pair of windows with defaults, in encoder forward passes; a backward counts 2."""
    mask: Mask | None = None
    """Mask of the embedded input; None: no mask."""

    def __init__(self, encoder: Encoder, config: MethodConfig) -> None:
        super().__init__()
        self.config: Any = config
        self.encoder = encoder
        self.encoder.dropout = config.encoder_dropout

    def begin(self, updates: int) -> None:
        """Take the number of updates, for schedules; called before the first update and again after a resume."""

    def forward(self, batch: Batch) -> Tensor:
        """Compute the scalar loss of a batch, with its graph."""
        raise NotImplementedError(f"{type(self).__name__}.forward: give the loss, 0-d")

    def loss_terms(self, batch: Batch) -> Iterator[Tensor]:
        """Yield 0-d terms whose sum is `forward`; the trainer frees the graph of each before it asks for the next."""
        yield self(batch)

    def positives(self, batch: Batch) -> Tensor | None:
        """Tell which of N candidates are positives of each query, its own pair included: (B, N) bool.

        None for a method whose positives do not depend on patients. Called before `forward`, for the health.
        """
        return None

    def after_step(self) -> None:
        """Follow an optimiser step, e.g. by a momentum update."""

    def exported(self) -> Encoder:
        """Return the encoder that downstream tasks get."""
        return self.encoder


class External(PretrainMethod):
    """The row of weights from elsewhere: it trains nothing, around the encoder that it brings."""

    trains = False
    encoder_class: ClassVar[type[PretrainedEncoder]]
