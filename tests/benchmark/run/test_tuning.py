"""Draws of a search: the config's own setting first, as many for each method, the same values of a shared knob."""

from __future__ import annotations

from benchmark.run.tuning import draws_of, variants_of_draws
from tests.benchmark.run.bench import SmallConfig

SETTINGS = {
    "methods": ["random", "pmq", "byol", "comet"],
    "methods.pmq.temperature": 0.3,
    "methods.byol.recipe.lr": 0.5,
}


def test_the_first_trial_is_the_configs_own_setting(small_config: SmallConfig) -> None:
    config = small_config(SETTINGS)
    draws = draws_of(config, 3, seed=1)
    assert list(draws) == ["pmq", "byol", "comet"]
    assert (draws["pmq"][0]["temperature"], draws["byol"][0]["recipe.lr"]) == (0.3, 0.5)
    variants = {variant.name: variant for variant in variants_of_draws(config, draws)}
    assert len(variants) == 9
    for name in draws:
        assert variants[f"{name}#0"].config == config.method_config(name)
        assert variants[f"{name}#1"].config != config.method_config(name)
    assert variants["pmq#2"].config.queue_size == 16  # type: ignore[attr-defined]


def test_methods_share_values_of_a_knob_and_a_longer_search_begins_as_a_shorter(
    small_config: SmallConfig,
) -> None:
    config = small_config(SETTINGS)
    draws, shorter = draws_of(config, 6, seed=1), draws_of(config, 3, seed=1)
    for pmq, byol in list(zip(draws["pmq"], draws["byol"], strict=True))[1:]:
        assert {knob: pmq[knob] for knob in pmq.keys() & byol} == {knob: byol[knob] for knob in pmq.keys() & byol}
    assert len({trial["recipe.lr"] for trial in draws["pmq"]}) == 6
    assert {name: trials[:3] for name, trials in draws.items()} == shorter
    assert draws_of(config, 3, seed=2)["pmq"][1] != draws["pmq"][1]
