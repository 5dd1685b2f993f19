"""Which values a config's fields may take: `Literal` choices and `Annotated` ranges, checked when it is built.

temperature: Annotated[float, Range(above=0.0)] = 0.1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Range:
    """Bounds of a number: least <= value <= most, and value > above."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return self.least <= value <= self.most and value > self.above

    def __str__(self) -> str:
        bounds = [
            ("above", self.above),
            ("at least", self.least),
            ("at most", self.most),
        ]
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if math.isfinite(bound))


Share = Annotated[float, Range(least=0.0, most=1.0)]
"""A fraction of a whole: 0 is none of it, 1 all of it."""


def check_fields(config: object) -> None:
    """Raise ValueError for the first field of a dataclass whose value its type does not allow."""
    for name, hint in get_type_hints(type(config), include_extras=True).items():
        value = getattr(config, name)
        wanted = _wanted(hint, value)
        if wanted is not None:
            raise ValueError(f"{type(config).__name__}.{name} = {value!r}: give {wanted}")


def _wanted(hint: Any, value: object) -> str | None:
    """What the field should hold, or None where the value is allowed."""
    if get_origin(hint) is Literal and value not in get_args(hint):
        return "one of " + ", ".join(map(repr, get_args(hint)))
    for bound in getattr(hint, "__metadata__", ()):
        if isinstance(bound, Range) and value not in bound:
            return f"a number {bound}"
    return None
