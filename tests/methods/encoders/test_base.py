"""Output steps of embedded steps are counted from the end."""

from __future__ import annotations

import pytest
import torch

from methods.encoders.base import output_step, output_stretch


@pytest.mark.parametrize(
    ("embedded", "output", "steps", "stretch", "expected"),
    [
        (8, 2, [0, 0, 0, 0, 1, 1, 1, 1], (0.0, 0.1), slice(0, 2)),
        (3, 4, [1, 2, 3], (0.5, 0.6), slice(2, 4)),  # a class token in front
        (5, 2, [0, 0, 1, 1, 1], (1.0, 1.0), slice(0, 2)),
        (20, 20, list(range(20)), (0.25, 0.5), slice(5, 10)),
        (300, 75, [step // 4 for step in range(300)], (0.25, 0.5), slice(18, 38)),
        (10, 20, list(range(1, 20, 2)), (1.0, 1.0), slice(18, 20)),  # two outputs for each
    ],
)
def test_output_steps_are_counted_from_the_end(
    embedded: int, output: int, steps: list[int], stretch: tuple[float, float], expected: slice
) -> None:
    assert output_step(torch.arange(embedded), embedded, output).tolist() == steps
    assert output_stretch(*stretch, embedded, output) == expected
