"""What a tuning is valid for, what it is refused for, and that the chosen knobs enter the keys.

Draws: the config's own setting first, as many for each method, the same values of a knob that methods share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config, validate
from benchmark.config.errors import ConfigError
from benchmark.results.tuned import Space, Trial, Tuning, save_tuning
from benchmark.run.grid import expand
from benchmark.run.tuning import (
    changed_data,
    changes,
    draws_of,
    found_tunings,
    spaces_told,
    tuning_content,
    tuning_key,
    variants_of_draws,
    with_chosen,
)
from methods.comet import COMETConfig

SmallConfig = Callable[..., Config]
TUNED = {"methods": ["random", "pmq", "byol"], "pretrain.preset": "tuned"}
CHOSEN = {"temperature": 0.2, "recipe.lr": 0.004}


def made(config: Config, name: str, knobs: dict[str, Any], trials: int = 2) -> Tuning:
    """A tuning whose second trial is the best."""
    own = dict.fromkeys(knobs, 0.0)
    found = [Trial(own, {"chapman": 0.5}, 0.5), *[Trial(knobs, {"chapman": 0.6}, 0.6)] * (trials - 1)]
    key, content = tuning_key(config, name), tuning_content(config, name)
    spaces: dict[str, Space] = {knob: {"scale": "log", "values": [0.1, 1.0]} for knob in knobs}
    return Tuning(key, content, name, name.upper(), 0.5, 41, 42, 1, {"chapman": "data"}, True, spaces, found, 1)


def keys_of(config: Config) -> set[str]:
    grid = expand(config, corpus="c", fingerprints={"chapman": "d"}, mode={"device": "cpu", "precision": "float32"})
    return {own.key for own in grid.pretrainings if own.method.name == "pmq"}


@pytest.mark.parametrize(
    "other",
    [
        {"ratios": [0.1]}, {"seeds": [1, 2]}, {"methods": ["pmq"]}, {"caption": "x"}, {"finetune.lr": 0.5},
        {"methods.byol.momentum": 0.5}, {"pretrain.seed": 7}, {"pretrain.preset": "unified"},
    ],
)  # fmt: skip
def test_a_tuning_outlives_what_its_scores_do_not_depend_on(small_config: SmallConfig, other: dict[str, Any]) -> None:
    assert tuning_key(small_config(TUNED), "pmq") == tuning_key(small_config(TUNED | other), "pmq")


@pytest.mark.parametrize(
    "other",
    [
        {"methods.pmq.queue_size": 8}, {"pretrain.epochs": 3}, {"encoder.hidden": 8}, {"data.datasets": ["ptb-xl"]},
        {"pretrain.recipe.batch_size": 16}, {"linear.strengths": [1.0]}, {"pretrain.budget": "windows"},
        {"protocol": "strict"}, {"data.simulation.seed": 2},
    ],
)  # fmt: skip
def test_a_tuning_is_of_its_settings_alone(small_config: SmallConfig, other: dict[str, Any]) -> None:
    assert tuning_key(small_config(TUNED), "pmq") != tuning_key(small_config(TUNED | other), "pmq")


def test_chosen_knobs_are_laid_over_the_methods_own_and_enter_the_keys(small_config: SmallConfig) -> None:
    config = small_config(TUNED)
    chosen = with_chosen(config, [made(config, "pmq", CHOSEN)])
    own, now = config.method_config("pmq"), chosen.method_config("pmq")
    assert now == replace(own, temperature=0.2, recipe=replace(own.recipe, lr=0.004))  # type: ignore[call-arg]
    assert chosen.method_config("byol") == config.method_config("byol")
    assert chosen.pretrain.preset == "tuned"
    assert keys_of(chosen) != keys_of(config)
    by_hand = small_config({"methods": ["pmq"], "methods.pmq.temperature": 0.2, "methods.pmq.recipe.lr": 0.004})
    assert keys_of(chosen) == keys_of(by_hand)
    assert validate(chosen.model_dump(mode="json")) == chosen


def test_chosen_knobs_of_a_further_preset_are_of_its_rows_alone(small_config: SmallConfig) -> None:
    beside = small_config(TUNED | {"pretrain.preset": "unified", "pretrain.presets": ["tuned"]})
    chosen = with_chosen(beside, [made(beside, "pmq", CHOSEN)])
    assert chosen.pretrain.tuned == {"pmq": CHOSEN}
    assert chosen.method_config("pmq") == beside.method_config("pmq")
    assert tuning_key(beside, "pmq") == tuning_key(small_config(TUNED), "pmq")
    assert keys_of(chosen) == keys_of(beside) | keys_of(with_chosen(small_config(TUNED), [made(beside, "pmq", CHOSEN)]))
    assert validate(chosen.model_dump(mode="json")) == chosen


def test_a_missing_tuning_is_one_line_with_its_remedy(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config(TUNED)
    save_tuning(tmp_path, made(config, "pmq", CHOSEN))
    with pytest.raises(ConfigError) as caught:
        found_tunings(config, tmp_path, "python x tune")
    told = (
        f"preset tuned: {tmp_path / 'tuned'} holds nothing for byol under these settings; make it with `python x tune`"
    )
    assert str(caught.value) == told


def test_searches_of_different_length_are_not_compared(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config(TUNED)
    save_tuning(tmp_path, made(config, "pmq", CHOSEN))
    save_tuning(tmp_path, made(config, "byol", {"recipe.lr": 0.1}, trials=4))
    with pytest.raises(ConfigError, match=r"not searched alike \(pmq 2 trials .*; byol 4 trials"):
        found_tunings(config, tmp_path, "tune")
    save_tuning(tmp_path, made(config, "byol", {"recipe.lr": 0.1}))
    assert [tuning.method for tuning in found_tunings(config, tmp_path, "tune")] == ["pmq", "byol"]


def test_other_data_than_those_tuned_on_are_named(small_config: SmallConfig) -> None:
    tuning = made(small_config(TUNED), "pmq", CHOSEN)
    assert changed_data([tuning], {"chapman": "data"}) == []
    assert changed_data([tuning], {"chapman": "new"}) == ["the methods were tuned on other contents of chapman"]
    assert changes(tuning) == "temperature 0.2, recipe.lr 0.004"


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


def test_spaces_are_told_with_their_scale() -> None:
    told = spaces_told(COMETConfig)
    assert told["recipe.lr"] == {"scale": "log", "values": [0.0001, 0.01]}
    assert told["mask_spans"] == {"scale": "choice", "values": [0, 2, 5, 10]}
