"""Remedies: settings that a config takes under either preset, and that change what they say."""

from __future__ import annotations

import pytest

from benchmark.config.load import load_config, parse_value
from benchmark.training.remedies import lower_rate, smaller_batch, uneven_batch
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


@pytest.mark.parametrize(("size", "ranks"), [(8, 1), (8, 4), (8, 8), (3, 3)])
def test_a_batch_that_can_be_shared_has_no_problem(size: int, ranks: int) -> None:
    assert uneven_batch("pmq", size, ranks) == ""


@pytest.mark.parametrize(
    ("size", "ranks", "fewer", "batch"),
    [(10, 4, 2, 8), (9, 4, 3, 8), (7, 3, 1, 6), (2, 3, 2, 3)],  # the most ranks, and the largest batch, that are even
)
def test_an_uneven_batch_names_fewer_ranks_and_an_even_batch(size: int, ranks: int, fewer: int, batch: int) -> None:
    told = uneven_batch("pmq", size, ranks)
    assert told.startswith(f"pmq: {ranks} ranks cannot share a batch of {size} pairs evenly; start {fewer} ")
    assert told.endswith(f"--set methods.pmq.recipe.batch_size={batch}")
