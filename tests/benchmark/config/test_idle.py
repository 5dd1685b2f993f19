"""A knob that cannot act is refused, unless a flag is what keeps one of the file from acting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.idle import IDLE, value_at
from benchmark.config.load import config_names, load_config
from benchmark.config.sections.data import Data
from benchmark.config.sections.pretrain import Pretrain
from methods.base import Recipe

WINDOWS = {"data.segmentation": "windows"}
RECORDINGS = {"data.segmentation": "recordings", "methods": ["moco"]}


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            {"pretrain.preset": "paper", "pretrain.recipe.lr": 0.5},
            "pretrain.recipe cannot act: each method has its own under preset: paper; set e.g. methods.pmq.recipe.lr, "
            "or use --preset unified",
        ),
        ({"protocol": "strict", "pretrain.seed": 3}, "pretrain.seed cannot act: protocol: strict"),
        ({"data.window_seconds": 5}, "data.window_seconds cannot act: it is of plain windows"),
        ({"pretrain.windows_per_trial": 5}, "pretrain.windows_per_trial cannot act"),
        ({"finetune.windows_per_trial": 5}, "finetune.windows_per_trial cannot act"),
        ({"data.segmentation": "heartbeats", "data.window_seconds": 5}, "data.window_seconds cannot act"),
        ({"data.window_stride": 1.0}, "data.window_stride cannot act: it is of crops of whole recordings"),
        ({**WINDOWS, "data.window_stride": 1.0}, "data.window_stride cannot act"),
        ({"data.short": "pad"}, "data.short cannot act: it is of windows and whole recordings"),
        ({**RECORDINGS, "pretrain.windows_per_trial": 5}, "pretrain.windows_per_trial cannot act"),
        ({**RECORDINGS, "pretrain.beats_per_trial": 5}, "pretrain.beats_per_trial cannot act"),
        ({**WINDOWS, "pretrain.beats_per_trial": 5}, "pretrain.beats_per_trial cannot act: it is of heartbeats"),
        ({**WINDOWS, "finetune": {"beats_per_trial": 5}}, "finetune.beats_per_trial cannot act"),
        ({"methods.random.recipe.lr": 0.5}, "methods.random cannot act: this method trains nothing"),
        ({"ablations": {"random": {"hot": {"recipe.lr": 0.5}}}}, "ablations.random cannot act"),
        ({"sweeps.random.encoder_dropout": [0.5]}, "sweeps.random.encoder_dropout cannot act: this method trains"),
    ],
)
def test_a_knob_that_cannot_act_is_refused_in_one_line(overrides: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "overrides",
    [
        {"pretrain.recipe.lr": 0.5},
        {"pretrain.seed": 3},
        {**WINDOWS, "data.window_seconds": 5, "finetune.windows_per_trial": 2},
        {**WINDOWS, "data.short": "pad"},
        {**RECORDINGS, "data.window_seconds": 5, "data.window_stride": 1.0, "data.short": "pad"},
        {"pretrain.beats_per_trial": 5},
        {"methods.pmq.recipe.lr": 0.5, "pretrain.preset": "paper"},
    ],
)
def test_where_it_acts_it_may_be_set(overrides: dict[str, Any]) -> None:
    load_config("demo", overrides)


@pytest.mark.parametrize("name", config_names())
def test_a_preset_given_by_flag_replaces_the_recipe_of_the_file(name: str) -> None:
    config = load_config(name, {"pretrain.preset": "paper"})
    assert config.pretrain.recipe is None
    assert config.method_config("clocs").recipe == Recipe("adam", lr=1e-4, weight_decay=0.0, schedule="constant")


def test_the_recipe_of_a_file_is_held_against_the_preset_of_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("methods: [pmq]\npretrain: {preset: paper, recipe: {lr: 0.5}}\n")
    with pytest.raises(ConfigError, match=r"pretrain\.recipe cannot act"):
        load_config(str(file))
    with pytest.raises(ConfigError, match=r"pretrain\.recipe cannot act"):
        load_config(str(file), {"pretrain.epochs": 3})
    assert load_config(str(file), {"pretrain.preset": "unified"}).method_config("pmq").recipe.lr == 0.5


def test_windows_of_a_file_are_left_out_where_a_flag_asks_for_heartbeats(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("methods: [pmq]\ndata: {segmentation: windows, window_seconds: 5}\n")
    assert load_config(str(file)).data.window_seconds == 5
    assert load_config(str(file), {"data.segmentation": "heartbeats"}).data.window_seconds == 2.5


def test_keys_that_are_decided_on_are_keys_of_a_config() -> None:
    default = Config(name="", methods=["pmq"]).model_dump()
    seconds = Pretrain(presets=["paper"], budget="seconds", pair_milliseconds={"pmq": 1.0})
    further = {"pretrain": seconds, "data": Data(window_stride=1.0, short="pad")}
    with_further = Config(name="", methods=["pmq"], **further).model_dump()  # type: ignore[arg-type]
    for idle in IDLE:
        if idle.decided_by:
            assert value_at(with_further, idle.key) is not None
            assert (value_at(default, idle.decided_by) in idle.where) == (None in idle.where)
