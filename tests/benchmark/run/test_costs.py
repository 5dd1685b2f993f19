"""The time of an update, of a whole batch from parts of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark.run import costs
from benchmark.run.costs import seconds_per_update
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.siamese import SimCLR


@pytest.mark.parametrize(("batch", "expected"), [(48, 2.0 + 48), (64, 2.0 + 64), (256, 2.0 + 256)])
def test_a_large_update_is_timed_by_a_line_through_two_smaller_ones(
    batch: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update costs two seconds, and one for each pair."""
    monkeypatch.setattr(costs, "update_of", lambda method, settings, size, *cut: size)
    monkeypatch.setattr(costs, "fastest_of_two", lambda size: 2.0 + size)
    settings = SimCLR.Config()
    settings = replace(settings, recipe=replace(settings.recipe, batch_size=batch))
    method = SimCLR(Dilated(DilatedConfig(hidden=4, depth=2, output=8)), settings)
    assert seconds_per_update(method, settings, 48, "float32") == pytest.approx(expected)
