"""Overrides of knobs: the last one stands, and of a recipe the fields that no later one names stay."""

from __future__ import annotations

from typing import Any

import pytest

from benchmark.config.overrides import dotted, laid_over

KNOBS = {"momentum": 0.9, "recipe": {"lr": 1.0, "batch_size": 8}}


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, KNOBS),
        ({"momentum": 0.5}, {**KNOBS, "momentum": 0.5}),
        ({"queue_size": 0}, {**KNOBS, "queue_size": 0}),
        ({"recipe": {"lr": 2.0}}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 8}}),
        ({"recipe.lr": 2.0}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 8}}),
        ({"recipe": {"lr": 2.0}, "recipe.batch_size": 4}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 4}}),
        ({"recipe": 3}, {"momentum": 0.9, "recipe": 3}),
    ],
)
def test_overrides_are_laid_over_knobs(overrides: dict[str, Any], expected: dict[str, Any]) -> None:
    assert laid_over(KNOBS, overrides) == expected
    assert KNOBS == {"momentum": 0.9, "recipe": {"lr": 1.0, "batch_size": 8}}


def test_fields_of_a_recipe_are_told_with_a_dot() -> None:
    assert dict(dotted(KNOBS)) == {"momentum": 0.9, "recipe.lr": 1.0, "recipe.batch_size": 8}
