"""Hyperparameters that several methods share, and the recipe: bounds, and the values from which `tune` may draw.

A space stands in the type, beside the bounds, so a hyperparameter has the same space in every method. One without a
space is not tuned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal, get_type_hints

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass


@dataclass(frozen=True)
class Log:
    """Log-uniform between two positive values."""

    low: float
    high: float

    def draw(self, source: Random) -> float:
        """Draw a value of two significant digits."""
        return float(f"{self.low * (self.high / self.low) ** source.random():.2g}")


@dataclass(frozen=True)
class Choice:
    """One of some values, each as likely as the others."""

    values: tuple[float, ...]

    def draw(self, source: Random) -> float:
        """Draw a value."""
        return source.choice(self.values)


Space = Log | Choice

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Temperature = Annotated[float, Field(gt=0), Log(0.03, 0.5)]
"""Temperature of the softmax over candidate keys: similarities are divided by it."""
Momentum = Annotated[Share, Choice((0.9, 0.99, 0.996, 0.999))]
"""Share of the momentum copy that stays in an update (PMQ, Eq. 2)."""
TimeMask = Annotated[Share, Choice((0.0, 0.1, 0.25, 0.5))]
"""Share of the time steps hidden in either view."""
FrequencyMask = Annotated[Share, Choice((0.0, 0.05, 0.1, 0.25))]
"""Share of the spectrum's elements hidden in either view."""
LossWeight = Annotated[float, Field(ge=0), Log(0.05, 1.0)]
"""Weight of one of a method's losses; 0 leaves it out."""
LearningRate = Annotated[float, Field(gt=0, strict=True), Log(1e-4, 1e-2)]
"""Peak of the schedule."""
WeightDecay = Annotated[float, Field(ge=0, strict=True), Choice((0.0, 1e-4, 1e-3, 1e-2, 1e-1))]


@checked_dataclass(
    frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False)
)  # strict as a whole, no dict fits
class Recipe:
    """Optimiser settings. A method's config defaults to its paper's; the `unified` preset replaces them."""

    optimiser: Literal["adamw", "adam"] = "adamw"
    lr: LearningRate = 1e-3
    weight_decay: WeightDecay = 1e-2
    """Decoupled for adamw, an L2 term of the gradient for adam."""
    schedule: Literal["warmup-cosine", "constant"] = "warmup-cosine"
    """warmup-cosine: linear over the first 5 % of the updates, then half a cosine to zero."""
    batch_size: Annotated[int, Field(ge=2, strict=True)] = 256
    """Pairs of windows."""


def spaces_of(config: type) -> Mapping[str, Space]:
    """Return tuned hyperparameter -> space, of a method's config; a field of the recipe is named 'recipe.lr'."""
    spaces: dict[str, Space] = {}
    for name, annotation in get_type_hints(config, include_extras=True).items():
        if hasattr(annotation, "__dataclass_fields__"):
            spaces |= {f"{name}.{inner}": space for inner, space in spaces_of(annotation).items()}
        for space in getattr(annotation, "__metadata__", ()):
            if isinstance(space, Space):
                spaces[name] = space
    return spaces
