"""Output steps of embedded steps are counted from the end."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.base import (
    output_step,
    output_stretch,
)


@pytest.mark.parametrize(
    ("embedded", "output", "expected"),
    [
        (4, 4, [0, 1, 2, 3]),
        (8, 2, [0, 0, 0, 0, 1, 1, 1, 1]),
        (3, 4, [1, 2, 3]),  # a class token in front
        (5, 2, [0, 0, 1, 1, 1]),
    ],
)
def test_steps_are_counted_from_the_end(embedded: int, output: int, expected: list[int]) -> None:
    assert output_step(torch.arange(embedded), embedded, output).tolist() == expected


@pytest.mark.parametrize(
    ("start", "stop", "embedded", "output", "expected"),
    [
        (0.25, 0.5, 20, 20, slice(5, 10)),
        (0.25, 0.5, 300, 75, slice(18, 38)),
        (1.0, 1.0, 20, 20, slice(18, 20)),
        (1.0, 1.0, 10, 20, slice(18, 20)),  # two outputs for each
    ],
)
def test_a_stretch_is_that_of_the_embedded_steps(
    start: float, stop: float, embedded: int, output: int, expected: slice
) -> None:
    assert output_stretch(start, stop, embedded, output) == expected
