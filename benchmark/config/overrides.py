"""Merge overrides of a method's knobs; its recipe is merged field by field.

A field of the recipe is named `recipe: {lr: 1e-4}` or `recipe.lr: 1e-4`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def laid_over(knobs: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Knobs with overrides applied; recipe fields without an override are kept."""
    laid = dict(knobs)
    for key, value in overrides.items():
        knob, dot, field = key.partition(".")
        change, below = {field: value} if dot else value, laid.get(knob)
        laid[knob] = {**below, **change} if isinstance(below, Mapping) and isinstance(change, Mapping) else change
    return laid


def dotted(knobs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(knob, value) pairs; a recipe field is named 'recipe.lr'."""
    for knob, value in knobs.items():
        if isinstance(value, Mapping):
            yield from ((f"{knob}.{field}", inner) for field, inner in value.items())
        else:
            yield knob, value
