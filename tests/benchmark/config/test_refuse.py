"""A knob that cannot act is refused, unless a flag is what keeps one of the file from acting.

Wrong values, names that nobody knows, and sections that do not fit each other, are refused in one line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config, load_config
from benchmark.config.errors import ConfigError, config_names
from benchmark.config.refuse import IDLE, value_at
from benchmark.config.sections import Data
from benchmark.data.datasets import DATASETS
from methods.base import Recipe

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
        ({"data.window_seconds": 5}, "data.window_seconds cannot act: it is of crops"),
        ({"data.segmentation": "heartbeats", "data.window_seconds": 5}, "data.window_seconds cannot act"),
        ({"data.window_stride": 1.0}, "data.window_stride cannot act: it is of crops of whole recordings"),
        ({"data.short": "pad"}, "data.short cannot act: it is of crops"),
        ({**RECORDINGS, "pretrain.beats_per_trial": 5}, "pretrain.beats_per_trial cannot act"),
        ({**RECORDINGS, "finetune": {"beats_per_trial": 5}}, "finetune.beats_per_trial cannot act"),
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
    file.write_text("methods: [pmq]\ndata: {segmentation: recordings, window_seconds: 5}\n")
    assert load_config(str(file)).data.window_seconds == 5
    assert load_config(str(file), {"data.segmentation": "heartbeats"}).data.window_seconds == 10


def test_keys_that_are_decided_on_are_keys_of_a_config() -> None:
    default = Config(name="", methods=["pmq"]).model_dump()
    further = {"data": Data(window_stride=1.0, short="pad", folds=5)}
    with_further = Config(name="", methods=["pmq"], **further).model_dump()  # type: ignore[arg-type]
    for idle in IDLE:
        if idle.decided_by:
            assert value_at(with_further, idle.key) is not None
            assert (value_at(default, idle.decided_by) in idle.where) == (None in idle.where)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"pretrain.epoch": 3}, ["'pretrain.epoch'", "did you mean 'pretrain.epochs'", "pretrain.recipe"]),
        ({"methods.clocs.recipe.lrr": 3}, ["'methods.clocs.recipe.lrr'", "methods.clocs.recipe.schedule"]),
        ({"epochs": 3}, ["'epochs'", "pretrain, finetune", "seeds"]),
        ({"ratios": [1.5]}, ["ratios.0", "less than or equal to 1", "1.5"]),
        ({"pretrain.epochs": 0}, ["pretrain.epochs", "0"]),
        ({"methods.pmq.momentum": 1.5}, ["methods.pmq.momentum", "less than or equal to 1", "got 1.5"]),
        (
            {"methods.comet": {f"{level}_weight": 0 for level in ("observation", "sample", "trial", "patient")}},
            ["methods.comet: all four weights are 0"],
        ),
        ({"encoder.hidden": 10.5}, ["encoder.hidden", "valid integer", "got 10.5"]),
        ({"methods": ["pmqq"]}, ["'pmqq'", "did you mean 'pmq'", "moco"]),
        ({"data.datasets": ["ptbxl"]}, ["'ptbxl'", "did you mean 'ptb-xl'", *DATASETS]),
        ({"data.simulation.patients.ptbxl": 3}, ["'ptbxl'", *DATASETS]),
        ({"data.simulation.test_patients": {"mimic-iv-ecg": 3}}, ["'mimic-iv-ecg'", "no test part"]),
        ({"data.datasets": ["mimic-iv-ecg"]}, ["mimic-iv-ecg", "no labels"]),
        ({"data.datasets": ["chapman"], "data.task": ["form"]}, ["data.task", "'form'", "chapman has default, all"]),
        (
            {"data.datasets": ["ptb-xl", "chapman"], "data.task": ["form"]},
            ["data.task", "chapman has none of the tasks form", "it has default, all"],
        ),
        ({"seeds": [41, 41]}, ["seeds", "[41, 41]", "twice"]),
        (
            {"data.simulation.patients": {"ptb-xl": 5, "chapman": 5, "cpsc2018": 5}},
            ["data.simulation.patients", "mimic-iv-ecg"],
        ),
        ({"knobs.pmq.momentun": 0.5}, ["momentun", "methods.pmq.momentum"]),
        ({"ablations.pmq": {"half": {"momentum": 2}}}, ["methods.pmq.momentum", "got 2"]),
        ({"methods": ["mae"], "encoder.name": "dilated"}, ["methods", "mae", "dilated"]),
        *[
            (
                {"methods": [method], "encoder": {"name": "vit1d", "patch": 300, "length": 300}},
                [f"methods: {method}", "the encoder gives 1 step per window", "2 are needed"],
            )
            for method in ("ts2vec", "cpc", "mae")
        ],
        (
            {
                "methods": ["random"],
                "sweeps.cpc.horizon": [4],
                "encoder": {"name": "vit1d", "patch": 300, "length": 300},
            },
            ["methods: cpc", "the encoder gives 1 step per window"],
        ),
    ],
)
def test_a_config_that_cannot_be_meant_is_refused_in_one_line(overrides: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []
