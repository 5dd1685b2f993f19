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


def test_methods_get_the_same_values_of_a_knob_that_they_share(small_config: SmallConfig) -> None:
    draws = draws_of(small_config(SETTINGS), 5, seed=1)
    for number in range(1, 5):
        for knob in draws["pmq"][number].keys() & draws["byol"][number].keys():
            assert draws["pmq"][number][knob] == draws["byol"][number][knob]
    assert len({trial["recipe.lr"] for trial in draws["pmq"]}) == 5


def test_a_longer_search_begins_with_the_trials_of_a_shorter_one(small_config: SmallConfig) -> None:
    config = small_config(SETTINGS)
    longer = draws_of(config, 6, seed=1)
    assert {name: trials[:3] for name, trials in longer.items()} == draws_of(config, 3, seed=1)
    assert draws_of(config, 3, seed=2)["pmq"][1] != longer["pmq"][1]
