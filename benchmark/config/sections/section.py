"""What the sections of a config share: frozen, strictly typed, refusing unknown keys; and the types of their values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
)

from benchmark.config.command_line.numbers import LARGEST_SEED

Overrides = dict[str, Any]
"""A method's knob -> its value."""


def share_not_percent(ratio: float) -> float:
    """A ratio as given. Raises ValueError above 1, where a percentage was probably meant."""
    if ratio > 1:
        meant = f" (did you mean {ratio / 100:g}?)" if ratio <= 100 else ""
        raise ValueError(f"input should be a share of the labels, less than or equal to 1{meant}")
    return ratio


def number_of_epochs(value: Any) -> float:
    """A number of epochs as given; an int where it is whole, so that 3 and 3.0 have one key. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("input should be a valid number of epochs, greater than 0")
    return int(value) if value == int(value) else value


Ratio = Annotated[float, Field(gt=0), AfterValidator(share_not_percent)]


Epochs = Annotated[float, PlainValidator(number_of_epochs)]


Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A frozen, strictly typed part of a config that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
