"""Copies follow encoder and head by the momentum of their method's schedule."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from methods import METHODS
from tests import make

COSINE = [1 - 0.2 * (math.cos(math.pi * done / 4) + 1) / 2 for done in range(4)]


@pytest.mark.parametrize(
    ("name", "settings", "updates", "expected"),
    [
        ("moco", {"momentum": 0.9}, 4, [0.9] * 3),
        ("byol", {"momentum": 0.8}, 4, [*COSINE, 1.0, 1.0]),  # more updates than were announced
        ("byol", {"momentum": 0.8}, None, [0.8] * 3),
        ("byol", {"momentum": 0.8, "momentum_schedule": "constant"}, 2, [0.8] * 3),
        ("jepa", {"momentum": 0.5}, 4, [0.5, 0.625, 0.75, 0.875, 1.0, 1.0]),
    ],
)
def test_copies_follow_by_the_momentum_of_the_schedule(
    name: str, settings: dict[str, Any], updates: int | None, expected: list[float]
) -> None:
    method: Any = METHODS[name](make.encoder(), METHODS[name].Config(**settings))
    if updates is not None:
        method.begin(updates)
    pairs = [(method.momentum_encoder, method.encoder), (method.momentum_projection_head, method.projection_head)]
    moving = [pair for copied, source in pairs for pair in zip(copied.parameters(), source.parameters(), strict=True)]
    for momentum in expected:
        with torch.no_grad():
            for _, source in moving:
                source.add_(1.0)
        followed = [momentum * copied + (1 - momentum) * source for copied, source in moving]
        method.after_step()
        torch.testing.assert_close([copied for copied, _ in moving], followed)
