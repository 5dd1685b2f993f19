"""What is said of a pretraining that went wrong: its name, and the setting that acts on it."""

from __future__ import annotations

import pytest

from benchmark.config.load import load_config
from benchmark.run.grid.expand import expand
from benchmark.training.health import EpochHealth
from benchmark.verbs.run.health import named, warnings_of
from tests.basic import BASIC


@pytest.mark.parametrize(("preset", "rate"), [("unified", "0.0001"), ("paper", "1e-05")])
def test_a_collapse_is_told_with_the_recipe_that_acts(preset: str, rate: str) -> None:
    overrides = {"methods": ["clocs"], "gates": [], "pretrain.preset": preset}
    mode = {"device": "cpu", "precision": "float32"}
    grid = expand(load_config(BASIC, overrides), corpus="corpus", fingerprints={"chapman": "data"}, mode=mode)
    assert list(named(grid)) == ["clocs seed 42"]
    collapsed = [EpochHealth(0), EpochHealth(1, effective_rank=1.0, mean_cosine=1.0)]
    (line,) = warnings_of(grid, {"clocs seed 42": collapsed})
    assert line.startswith("clocs seed 42: the features have collapsed")
    assert f"(--set methods.clocs.recipe.lr={rate})" in line
