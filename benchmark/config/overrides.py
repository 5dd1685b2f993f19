"""Overrides of a method's knobs, laid over one another: of its recipe field by field.

A field of the recipe is named `recipe: {lr: 1e-4}` or `recipe.lr: 1e-4`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def laid_over(knobs: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Knobs with overrides over them; a recipe keeps the fields that no override names."""
    laid = dict(knobs)
    for key, value in overrides.items():
        knob, dot, field = key.partition(".")
        change, below = {field: value} if dot else value, laid.get(knob)
        laid[knob] = {**below, **change} if isinstance(below, Mapping) and isinstance(change, Mapping) else change
    return laid


def dotted(knobs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each knob with what is given for it; a field of the recipe as 'recipe.lr'."""
    for knob, value in knobs.items():
        if isinstance(value, Mapping):
            yield from ((f"{knob}.{field}", inner) for field, inner in value.items())
        else:
            yield knob, value
