"""Configs: YAML as people mean it, every wrong key and value refused in one line, every knob within reach of --set."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import load_config, parse_value, validate
from benchmark.config.errors import ConfigError, config_names
from benchmark.config.refuse import value_at
from methods import BEYOND, METHODS
from methods.base import Recipe
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from tests.basic import ANYWHERE

SCALARS = {
    "1e-3": 0.001, "1E3": 1000, "1.0E3": 1000.0, "1e999": float("inf"), "-.5": -0.5, "5.": 5.0, "0": 0, "-7": -7,
    "true": True, "false": False, "null": None, "": None, "[0.5, 1e-2]": [0.5, 0.01], "{a: 1}": {"a": 1}, "on": "on",
    "no": "no", "010": "010", "0x10": "0x10", "1_000": "1_000", "1:30": "1:30", "2020-01-01": "2020-01-01",
    "files/p10": "files/p10", "'1e-3'": "1e-3",
}  # fmt: skip


def test_scalars_are_what_people_mean() -> None:
    parsed = {text: parse_value(text) for text in SCALARS}
    assert parsed == SCALARS
    assert {text: type(value) for text, value in parsed.items()} == {text: type(own) for text, own in SCALARS.items()}


@pytest.mark.parametrize(
    "text",
    [
        "[&a [x, x], *a]",
        "!!python/name:os.system",
        "? [a]\n: b",
    ],
)
def test_a_value_that_no_config_has_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a YAML value"):
        parse_value(text)
    (tmp_path / "mine.yaml").write_text(f"name: {text}")
    with pytest.raises(ConfigError, match=r"mine.yaml' is not YAML: ") as caught:
        load_config(str(tmp_path / "mine.yaml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", config_names())
def test_packaged_configs_are_valid_and_say_what_they_are(name: str) -> None:
    """One that is kept in a plan comes back the same."""
    config = load_config(name)
    assert config.name == name
    assert len(config.caption) > 20
    assert load_config(name, {"methods": ANYWHERE}).methods == ANYWHERE
    assert name == "literature" or not {*config.methods} & {*BEYOND}
    again = validate(config.model_dump(mode="json"))
    assert again == config
    assert hash(again) == hash(config)


def test_heartbeats_are_found_as_the_protocol_says_unless_the_config_does() -> None:
    assert load_config("demo").data.beats == "authors"
    assert load_config("demo", {"protocol": "strict"}).data.cut().beats == "fused"
    assert load_config("demo", {"protocol": "strict", "data.beats": "authors"}).data.cut().beats == "authors"
    plain = load_config("demo", {"protocol": "strict", "data.segmentation": "recordings"})
    assert plain.data.cut() == load_config("demo", {"data.segmentation": "recordings"}).data.cut()
    with pytest.raises(ConfigError, match=r"data\.beats cannot act: it is of heartbeats"):
        load_config("demo", {"data.segmentation": "recordings", "data.beats": "fused"})


def test_an_override_reaches_any_key_and_is_left_as_it_was() -> None:
    cases: tuple[tuple[dict[str, Any], str, object], ...] = (
        ({"pretrain.recipe.lr": 0.5}, "pretrain.recipe.lr", 0.5),
        ({"pretrain.recipe": {"optimiser": "adam"}}, "pretrain.recipe.optimiser", "adam"),
        ({"encoder": {"hidden": 8}, "encoder.depth": 3}, "encoder.depth", 3),
        ({"ratios": [0.5]}, "ratios", [0.5]),
        ({"finetune.dropout": 0}, "finetune.dropout", 0.0),
        ({"data.simulation.noise": 0}, "data.simulation.noise", 0.0),
        ({"data.simulation": None}, "data.simulation", None),
    )
    for overrides, path, value in cases:
        before = deepcopy(overrides)
        assert value_at(load_config("demo", overrides).model_dump(), path) == value
        assert overrides == before


def test_an_override_reaches_a_methods_knob_and_leaves_its_others() -> None:
    config = load_config("demo", {"methods.pmq.momentum": 0.5, "methods.pmq.recipe.lr": 0.25})
    method: Any = config.method_config("pmq")
    assert (method.momentum, method.recipe.lr, method.queue_size) == (0.5, 0.25, 512)
    assert config.method_config("moco") == load_config("demo").method_config("moco")
    ablated: Any = config.method_config("pmq", {"queue_size": 0})
    assert (ablated.momentum, ablated.queue_size) == (0.5, 0)
    dotted = load_config("demo", {"methods": ["pmq"], "methods.pmq.momentum": 0.5})
    assert dotted == load_config("demo", {"knobs.pmq": {"queue_size": 512, "momentum": 0.5}, "methods": ["pmq"]})


def test_an_encoder_stands_with_its_name_and_all_its_knobs() -> None:
    named = load_config("demo", {"encoder.name": "dilated"})
    assert named == load_config("demo")
    assert named.encoder == {"name": "dilated", "hidden": 16, "depth": 4, "output": 64, "pool": 3}
    other = load_config("paper", {"encoder": {"name": "resnet1d"}})
    assert other.encoder == {"name": "resnet1d", "output": 128}
    assert (other.encoder_class(), other.encoder_config()) == (ResNet1d, ResNet1dConfig())


def test_a_name_laid_over_a_file_leaves_the_knobs_of_its_own_encoder_behind(tmp_path: Path) -> None:
    assert load_config("demo", {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 128}
    knobs = {"encoder.output": 32, "encoder.name": "resnet1d"}
    assert load_config("demo", knobs).encoder == {"name": "resnet1d", "output": 32}
    (tmp_path / "mine.yaml").write_text("methods: [pmq]\nencoder: {name: resnet1d, output: 24}\n")
    mine = str(tmp_path / "mine.yaml")
    assert load_config(mine, {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 24}
    own = load_config(mine, {"encoder.name": "dilated"}).encoder
    assert own == {"name": "dilated", "hidden": 64, "depth": 10, "output": 320, "pool": 1}


def test_a_wrong_encoder_is_refused_in_one_line() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"hiden": 3}, "unknown config key 'encoder.hiden' (did you mean 'encoder.hidden'?); there are: encoder.name,"),
        ({"name": "resnet1d", "depth": 3}, "there are: encoder.name, encoder.output"),
        ({"name": "resnet"}, "unknown encoder 'resnet': did you mean 'resnet1d'? choose from dilated, resnet1d, "),
        ({"name": 3}, "encoder: {name: dilated} was expected, with knobs of that encoder, got {'name': 3}"),
        ({"output": 0}, "encoder.output: input should be greater than or equal to 1, got 0"),
    )
    for encoder, line in cases:
        with pytest.raises(ConfigError) as caught:
            load_config("demo", {"encoder": encoder})
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_preset_chooses_whose_recipe_and_an_own_one_comes_first_field_by_field() -> None:
    presets = {
        "unified": load_config("demo", {"pretrain.recipe.lr": 0.5}),
        "paper": load_config("demo", {"pretrain.preset": "paper"}),
    }
    assert presets["paper"].pretrain.recipe is None
    for name in (name for name, kind in METHODS.items() if kind.trains):
        assert presets["unified"].method_config(name).recipe == Recipe(lr=0.5, batch_size=64)
        assert presets["paper"].method_config(name).recipe == METHODS[name].Config().recipe
    for preset in presets:
        before = load_config("demo", {"pretrain.preset": preset})
        after = load_config("demo", {"pretrain.preset": preset, "methods.clocs.recipe.lr": 0.125})
        assert after.method_config("clocs").recipe == replace(before.method_config("clocs").recipe, lr=0.125)
        assert after.method_config("pmq") == before.method_config("pmq")


def test_dropout_in_fine_tuning_is_the_authors_under_their_preset_alone() -> None:
    paper = {"pretrain.preset": "paper"}
    chosen: tuple[tuple[dict[str, Any], float], ...] = (
        ({}, 0.0),
        (paper | {"finetune.encoder_dropout": 0.25}, 0.25),
        ({"finetune.encoder_dropout": 0.0}, 0.0),
    )
    for overrides, dropout in chosen:
        config = load_config("demo", overrides)
        assert {config.finetuning(method).encoder_dropout for method in METHODS.values()} == {dropout}
    found = {name: load_config("demo", paper).finetuning(own).encoder_dropout for name, own in METHODS.items()}
    assert found == dict.fromkeys(METHODS, 0.0) | {"pmq-released": 0.1}


@pytest.mark.parametrize("change", [{"recipe": {"lr": 0.25}}, {"recipe.lr": 0.25}])
def test_an_ablation_changes_one_field_of_the_recipe(change: dict[str, Any]) -> None:
    config = load_config("demo", {"methods.pmq.recipe.weight_decay": 0.5})
    recipe = config.method_config("pmq", change).recipe
    assert recipe == Recipe(lr=0.25, weight_decay=0.5, batch_size=64)


def test_a_sweep_over_a_field_of_the_recipe_is_named_with_a_dot() -> None:
    for sweeps in ({"pmq": {"recipe": {"lr": [0.25]}}}, {"pmq": {"recipe.lr": [0.25]}}):
        assert load_config("demo", {"sweeps": sweeps}).sweeps == {"pmq": {"recipe.lr": [0.25]}}
    with pytest.raises(ConfigError, match=r"methods\.pmq\.recipe"):
        load_config("demo", {"sweeps.pmq.recipe.lr": [0.0]})


def test_knobs_in_a_standard_dataclass_of_a_method_file_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom methods.pmq import PMQ, PMQConfig\n\n\n"
        "@dataclass(frozen=True)\nclass Knobs(PMQConfig):\n    extra: float = 1.0\n\n\n"
        "class Plain(PMQ):\n    name, title, Config = 'plain', 'Plain', Knobs\n"
    )
    rows = {"methods": [str(file)]}
    knobs = load_config("demo", {**rows, "knobs": {"plain": {"extra": 2}}}).method_config("plain")
    assert (knobs.extra, knobs.momentum) == (2.0, 0.999)  # type: ignore[attr-defined]
    for wrong, line in (
        ({"extra": True}, "methods.plain.extra: input should be a valid number, got True"),
        ({"momentum": 2}, "methods.plain.momentum: input should be less than or equal to 1, got 2"),
        ({"extr": 2.0}, "unknown config key 'methods.plain.extr' (did you mean 'methods.plain.extra'?)"),
    ):
        with pytest.raises(ConfigError) as caught:
            load_config("demo", {**rows, "knobs": {"plain": wrong}})
        assert str(caught.value).startswith(line)


def test_an_infinite_value_and_a_truth_value_are_refused() -> None:
    for key in ("finetune.lr", "methods.pmq.temperature", "pretrain.recipe.lr"):
        with pytest.raises(ConfigError, match=key.rpartition(".")[2]):
            load_config("demo", {key: "inf"})
    numbers = ("pretrain.epochs", "finetune.lr", "pretrain.recipe.lr", "methods.pmq.queue_size")
    for key in (*numbers, "methods.pmq.recipe.lr"):
        with pytest.raises(ConfigError, match=rf"{key}: input should be a valid (number|integer).*, got True"):
            load_config("demo", {key: True})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("methods: [random", ["is not YAML"]),
        ("", ["holds no keys"]),
        ("caption: x", ["methods", "required"]),
        ("methods: [random]\nvariants: {}", ["'variants'"]),
    ],
)
def test_a_wrong_file_is_one_line(content: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_config(str(file))
    assert "\n" not in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("where", ["column", "path"])
def test_own_data_that_state_patients_are_split_by_patient_unless_a_protocol_is_chosen(where: str) -> None:
    signals = {"files": "{patient}/{recording}.hea"} if where == "path" else {"files": "{recording}.hea"}
    table = {"file": "t.csv", "recording": "id"} | ({"patient": "who"} if where == "column" else {})
    card = {"name": "ours", "title": "Ours", "signals": signals, "table": table}
    labels = {"labels": {"classes": ["AF", "SR"], "column": "rhythm"}}
    own = {
        "data.cards": {"ours": card | labels},
        "data.datasets": ["ours"],
        "data.pretrain": "ours",
        "data.simulation": None,
    }
    config = load_config("demo", own)
    assert (config.protocol, config.data.with_patients()) == ("strict", ["Ours"])
    assert load_config("demo", own | {"protocol": "paper"}).protocol == "paper"
    assert load_config("demo", own | {"data.datasets": ["ptb-xl"], "data.pretrain": "ptb-xl"}).protocol == "paper"
    nobody = card | labels | {"signals": {"files": "{recording}.hea"}, "table": {"file": "t.csv", "recording": "id"}}
    assert load_config("demo", own | {"data.cards": {"ours": nobody}}).protocol == "paper"
