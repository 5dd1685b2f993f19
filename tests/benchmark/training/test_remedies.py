"""Remedies: settings that a config takes under either preset, and that change what they say."""

from __future__ import annotations

import pytest

from benchmark.config.load import load_config, parse_value
from benchmark.training.remedies import lower_rate, smaller_batch
from methods import METHODS
from tests.basic import ANYWHERE, BASIC

TRAINED = [name for name in ANYWHERE if METHODS[name].trains]


@pytest.mark.parametrize("preset", ["unified", "paper"])
@pytest.mark.parametrize("name", TRAINED)
def test_a_remedy_acts(name: str, preset: str) -> None:
    chosen = {"methods": [name], "pretrain.preset": preset}
    before = load_config(BASIC, chosen).method_config(name).recipe
    rate, batch = lower_rate(name, before), smaller_batch(name, before.batch_size)
    told = (remedy.removeprefix("--set ").partition("=") for remedy in (rate, batch))
    after = load_config(BASIC, chosen | {key: parse_value(value) for key, _, value in told}).method_config(name).recipe
    assert after.lr == pytest.approx(before.lr / 10)
    assert after.batch_size == before.batch_size // 2


def test_no_batch_is_smaller_than_a_pair() -> None:
    assert smaller_batch("pmq", 3) == "--set methods.pmq.recipe.batch_size=2"
