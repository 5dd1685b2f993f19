"""The contract of a method: what it is given, what it is configured by, what it must answer.

The loader makes the views, the method owns its momentum copies, queue and masks, and the trainer knows none of them:

    method.begin(updates); method.positives(batch)
    loss = method(batch); loss.backward(); optimiser.step(); schedule.step(); method.after_step()

State lives in parameters and buffers; draws come from torch's generator, seeded from (seed, epoch, step) at each step.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from methods.encoders.dilated import Encoder
from methods.parts.masks import Mask
from methods.parts.positives import Positives as Positives  # a part of the contract

Pairing = Literal["neighbor", "same", "patient"]
"""Second view: the next heartbeat, the same one, or one of another recording of the patient (else of this one)."""
Batching = Literal["shuffled", "trial", "trial-fixed", "patient", "patient-once"]
"""Batches of random windows; of whole pseudo-trials; the latter with the same members in every epoch; with at most one
window of a patient in a batch; the latter with one window of each patient per epoch."""


class Batch(NamedTuple):
    """B pairs of windows with S time steps and L leads."""

    x1: Tensor  # (B, S, L) first view
    x2: Tensor  # (B, S, L) second view, as the method's `pairing` says
    patient: Tensor  # (B,) int64 >= 0; the loader counts from 1, which `pmq-released` relies on
    recording: Tensor  # (B,) int64 >= 0, the ECG the first window came from
    trial: Tensor  # (B,) int64 >= 0, the pseudo-trial of the first window
    text: Tensor | None = None  # (B, E) frozen report embedding


Share = Annotated[float, Field(ge=0, le=1)]
"""A fraction of a whole: 0 is none of it, 1 all of it."""


# Its fields are strict, itself is not: a strict dataclass does not come of a dict.
@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Recipe:
    """How a method is optimised. A method's config carries its own paper's; the `unified` preset replaces it."""

    optimiser: Literal["adamw", "adam"] = "adamw"
    lr: Annotated[float, Field(gt=0, strict=True)] = 1e-3
    weight_decay: Annotated[float, Field(ge=0, strict=True)] = 1e-2
    """Decoupled for adamw, an L2 term of the gradient for adam."""
    schedule: Literal["warmup-cosine", "constant"] = "warmup-cosine"
    """warmup-cosine: linear over the first 5 % of the updates, then half a cosine to zero."""
    batch_size: Annotated[int, Field(ge=2, strict=True)] = 256


@dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))
class MethodConfig:
    """Knobs every method has. A method extends it by a dataclass of its own; bad values raise ValueError."""

    pairing: Pairing = "neighbor"
    batching: Batching = "shuffled"
    encoder_dropout: Share = 0.0
    """Dropout on the encoder's output while pretraining."""
    recipe: Recipe = field(default_factory=Recipe)


class PretrainMethod(nn.Module):
    """A pretraining method around an encoder. Subclasses set `name`, `title` and `Config`, and give `forward`.

    The encoder takes on the config's `encoder_dropout`; those who use it downstream set their own.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """As printed in a table."""
    Config: ClassVar[type[MethodConfig]] = MethodConfig
    version: ClassVar[int] = 1
    """Results version: raised with any change that can move the method's numbers."""
    trains: ClassVar[bool] = True
    """False: `forward` is never called, and the encoder stays as the seed drew it."""
    needs_text: ClassVar[bool] = False
    """True: batches carry the embedded report; recordings without one are left out of the method's pretraining."""
    encoder_passes: ClassVar[float] = 4.0
    """Estimated cost of an update per pair of windows, default knobs: a pooled forward pass is 1, a backward one 2."""
    mask: Mask | None = None
    """What hides a part of the embedded input, where anything does."""

    def __init__(self, encoder: Encoder, config: MethodConfig) -> None:
        super().__init__()
        self.encoder = encoder
        self.encoder.dropout = config.encoder_dropout

    def begin(self, updates: int) -> None:
        """Called once before the first update, and again after a resume, with the number of updates of the training."""

    def forward(self, batch: Batch) -> Tensor:
        """The scalar loss of a batch, with its graph."""
        raise NotImplementedError(f"{type(self).__name__} has no loss: it is not a method that trains")

    def positives(self, batch: Batch) -> Positives | None:
        """What attracts the queries in the loss of a batch that `forward` has not seen yet; None where nothing is told.

        It draws no random number and changes no state: it is asked in training, to count what the loss works with.
        """
        return None

    def query_and_key(self, batch: Batch) -> tuple[Tensor, Tensor] | None:
        """What the loss compares besides a queue: (N, K) queries and their own keys, of unit length; None: not told."""
        return None

    def after_step(self) -> None:
        """What follows an optimiser step, e.g. a momentum update."""

    def exported(self) -> Encoder:
        """The encoder that downstream tasks get."""
        return self.encoder
