"""Configs: YAML as people mean it, every wrong key and value refused in one line, every knob within reach of --set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names, load_config, parse_value, validate
from benchmark.data.readers.registry import DATASETS
from methods import METHODS
from methods.base import Recipe
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("0", 0),
        ("-7", -7),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
        ("[0.5, 1e-2]", [0.5, 0.01]),
        ("{a: 1}", {"a": 1}),
        ("on", "on"),
        ("no", "no"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("files/p10", "files/p10"),
        ("'1e-3'", "1e-3"),
    ],
)
def test_scalars_are_what_people_mean(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("text", ["[1", "{a: 1", "a: b: c", "'x", "@x"])
def test_what_is_not_yaml_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a YAML value") as caught:
        parse_value(text)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", config_names())
def test_packaged_configs_are_valid_and_say_what_they_are(name: str) -> None:
    config = load_config(name)
    assert config.name == name
    assert len(config.caption) > 20
    assert load_config(name, {"compare": list(METHODS)}).compare == list(METHODS)


def test_the_default_and_the_papers_grid_are_there() -> None:
    assert {"demo", "laptop", "paper"} <= set(config_names())
    demo, paper = load_config("demo"), load_config("paper")
    assert demo.data.simulation is not None
    assert paper.data.simulation is None
    assert (paper.ratios, paper.seeds) == ([0.3, 0.1, 0.01], [41, 42, 43, 44, 45])
    assert paper.encoder == {"hidden": 64, "depth": 10, "output": 320}


@pytest.mark.parametrize("name", config_names())
def test_a_config_kept_in_a_plan_comes_back_the_same(name: str) -> None:
    config = load_config(name)
    assert validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("overrides", "path", "value"),
    [
        ({"pretrain.recipe.lr": 0.5}, "pretrain.recipe.lr", 0.5),
        ({"pretrain.recipe": {"optimiser": "adam"}}, "pretrain.recipe.optimiser", "adam"),
        ({"encoder.hidden": 8}, "encoder.hidden", 8),
        ({"encoder.hidden": 1e1}, "encoder.hidden", 10),
        ({"ratios": [0.5]}, "ratios", [0.5]),
        ({"finetune.dropout": 0}, "finetune.dropout", 0.0),
        ({"data.simulation.noise": 0}, "data.simulation.noise", 0.0),
        ({"data.simulation": None}, "data.simulation", None),
    ],
)
def test_an_override_reaches_any_key(overrides: dict[str, Any], path: str, value: object) -> None:
    found: Any = load_config("demo", overrides).model_dump()
    for part in path.split("."):
        found = found[part]
    assert found == value


def test_an_override_reaches_a_methods_knob_and_leaves_its_others() -> None:
    config = load_config("demo", {"methods.pmq.momentum": 0.5, "methods.pmq.recipe.lr": 0.25})
    method: Any = config.method_config("pmq")
    assert (method.momentum, method.recipe.lr, method.queue_size) == (0.5, 0.25, 512)
    assert config.method_config("moco") == load_config("demo").method_config("moco")
    ablated: Any = config.method_config("pmq", {"queue_size": 0})
    assert (ablated.momentum, ablated.queue_size) == (0.5, 0)


def test_the_default_encoder_goes_without_its_name_and_every_other_with_all_its_knobs() -> None:
    """Configs kept before there were other encoders stay equal to those made now."""
    named = load_config("demo", {"encoder.name": "dilated"})
    assert named == load_config("demo")
    assert named.encoder == {"hidden": 16, "depth": 10, "output": 64}
    other = load_config("paper", {"encoder": {"name": "resnet1d"}})
    assert other.encoder == {"name": "resnet1d", "output": 128}
    assert (other.encoder_class(), other.encoder_config()) == (ResNet1d, ResNet1dConfig())


def test_a_name_laid_over_a_file_leaves_the_knobs_of_its_own_encoder_behind(tmp_path: Path) -> None:
    assert load_config("demo", {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 128}
    knobs = {"encoder.output": 32, "encoder.name": "resnet1d"}
    assert load_config("demo", knobs).encoder == {"name": "resnet1d", "output": 32}
    (tmp_path / "mine.yaml").write_text("compare: [pmq]\nencoder: {name: resnet1d, output: 24}\n")
    mine = str(tmp_path / "mine.yaml")
    assert load_config(mine, {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 24}
    assert load_config(mine, {"encoder.name": "dilated"}).encoder == {"hidden": 64, "depth": 10, "output": 320}


@pytest.mark.parametrize(
    ("encoder", "line"),
    [
        ({"hiden": 3}, "unknown config key 'encoder.hiden' (did you mean 'encoder.hidden'?); there are: encoder.name,"),
        ({"leads": 3}, "unknown config key 'encoder.leads'"),
        ({"dropout": 0.1}, "unknown config key 'encoder.dropout'"),
        ({"name": "resnet1d", "depth": 3}, "there are: encoder.name, encoder.output"),
        ({"name": "resnet"}, "unknown encoder 'resnet': did you mean 'resnet1d'? choose from dilated, resnet1d, or"),
        ({"name": 3}, "encoder: {name: dilated} was expected, with knobs of that encoder, got {'name': 3}"),
        ({"name": "nowhere.py"}, "nowhere.py does not exist"),
        ({"output": 0}, "encoder: output = 0: give a number at least 1"),
        ({"output": True}, "encoder.output: a number was expected, got true"),
        ({"output": "wide"}, "encoder.output: input should be a valid integer"),
    ],
)
def test_a_wrong_encoder_is_refused_in_one_line(encoder: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", {"encoder": encoder})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_overrides_are_left_as_they_were() -> None:
    overrides = {"encoder": {"hidden": 8}, "encoder.depth": 3}
    load_config("demo", overrides)
    assert overrides == {"encoder": {"hidden": 8}, "encoder.depth": 3}


def test_a_preset_chooses_whose_recipe() -> None:
    own = replace(Recipe(), lr=0.125)
    config = load_config("demo", {"methods.pmq.recipe.lr": 0.125, "pretrain.recipe.lr": 0.5})
    method = config.method_config("pmq")
    assert config.recipe(method).lr == 0.5
    assert load_config("demo", {"pretrain.preset": "paper"}).recipe(method) == own


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"pretrain.epoch": 3}, ["'pretrain.epoch'", "did you mean 'pretrain.epochs'", "pretrain.recipe"]),
        ({"pretrain.recipe.lrr": 3}, ["'pretrain.recipe.lrr'", "pretrain.recipe.lr", "pretrain.recipe.schedule"]),
        ({"epochs": 3}, ["'epochs'", "pretrain, finetune", "seeds"]),
        ({"compare": ["pmqq"]}, ["'pmqq'", "did you mean 'pmq'", "moco"]),
        ({"methods.mocco": {}}, ["'mocco'", "did you mean 'moco'"]),
        ({"data.datasets": ["ptbxl"]}, ["'ptbxl'", "did you mean 'ptb-xl'", *DATASETS]),
        ({"data.pretrain": "mimic"}, ["'mimic'", *DATASETS]),
        ({"data.simulation.patients.ptbxl": 3}, ["'ptbxl'", *DATASETS]),
        ({"data.datasets": ["mimic-iv-ecg"]}, ["mimic-iv-ecg", "no labels"]),
        ({"ratios": [0.5, 0]}, ["ratios.1", "greater than 0", "got 0"]),
        ({"ratios": [1.5]}, ["ratios.0", "less than or equal to 1", "1.5"]),
        ({"ratios": [-0.1]}, ["ratios.0", "-0.1"]),
        ({"ratios": ["half"]}, ["ratios.0", "'half'"]),
        ({"ratios": []}, ["ratios", "at least 1", "[]"]),
        ({"ratios": 0.5}, ["ratios", "list", "0.5"]),
        ({"seeds": [-1]}, ["seeds.0", "-1"]),
        ({"seeds": [1.5]}, ["seeds.0", "1.5"]),
        ({"protocol": "papers"}, ["protocol", "'paper' or 'strict'", "'papers'"]),
        ({"precision": "fp16"}, ["precision", "'bf16'", "'fp16'"]),
        ({"evaluate": ["probe"]}, ["evaluate.0", "'linear'", "'probe'"]),
        ({"pretrain.epochs": 0}, ["pretrain.epochs", "0"]),
        ({"pretrain.recipe.lr": 0}, ["pretrain.recipe", "lr = 0", "above 0"]),
        ({"pretrain.recipe.batch_size": 1}, ["pretrain.recipe", "batch_size = 1", "at least 2"]),
        ({"pretrain.recipe.schedule": "cosine"}, ["pretrain.recipe.schedule", "'warmup-cosine'", "'cosine'"]),
        ({"finetune.lr": "fast"}, ["finetune.lr", "'fast'"]),
        ({"finetune.dropout": 1}, ["finetune.dropout", "less than 1"]),
        ({"linear.strengths": [1, 0]}, ["linear.strengths.1", "greater than 0"]),
        ({"methods.pmq.momentum": 1.5}, ["methods.pmq", "momentum = 1.5", "at most 1"]),
        ({"methods.pmq.positives": "all"}, ["methods.pmq.positives", "'all'", "'patient'"]),
        ({"encoder": 3}, ["encoder", "3"]),
        ({"encoder.hidden.x": 3}, ["'encoder.hidden.x'", "'hidden' is a value"]),
        ({"seeds": [41, 41]}, ["seeds", "[41, 41]", "twice"]),
        ({"ratios": [0.1, 1e-1]}, ["ratios", "twice"]),
        ({"compare": ["pmq", "moco", "pmq"]}, ["compare", "twice"]),
        ({"evaluate": ["linear", "linear"]}, ["evaluate", "twice"]),
    ],
)
def test_a_wrong_value_is_one_line_with_its_place_and_what_is_allowed(
    overrides: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("demo", overrides)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_knob_of_a_method_is_refused(method: str) -> None:
    with pytest.raises(ConfigError, match=r"'methods\..*\.momentm'"):
        load_config("demo", {f"methods.{method}.momentm": 0.5})


def test_a_dataset_named_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        load_config("demo", {"data.datasets": ["ptb-xl", "ptb-xl"]})


def test_a_simulated_dataset_without_a_number_of_patients_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"data.simulation.patients.*mimic-iv-ecg"):
        load_config("demo", {"data.simulation.patients": {"ptb-xl": 5, "chapman": 5, "cpsc2018": 5}})


@pytest.mark.parametrize("key", ["finetune.lr", "methods.pmq.temperature", "pretrain.recipe.lr"])
def test_an_infinite_value_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=key.rpartition(".")[2]):
        load_config("demo", {key: "inf"})


@pytest.mark.parametrize("key", ["pretrain.epochs", "finetune.lr"])
def test_a_truth_value_is_no_number(key: str) -> None:
    with pytest.raises(ConfigError, match=key):
        load_config("demo", {key: True})


def test_a_config_cannot_be_changed() -> None:
    config = load_config("demo")
    for section, key in ((config, "ratios"), (config.pretrain, "epochs"), (config.data.simulation, "noise")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(section, key, getattr(section, key))


def test_a_config_can_be_hashed() -> None:
    assert hash(load_config("demo")) == hash(load_config("demo"))


def test_a_config_is_found_by_file_and_named_after_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("compare: [random]\nfinetune: {lr: 1e-3}\nratios: [1]\n")
    config = load_config(str(file), {"seeds": [7]})
    assert (config.name, config.finetune.lr, config.ratios, config.seeds) == ("mine", 0.001, [1.0], [7])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("compare: [random", ["is not YAML"]),
        ("", ["holds no keys"]),
        ("- random", ["holds no keys"]),
        ("caption: x", ["compare", "required"]),
        ("compare: [random]\nvariants: {}", ["'variants'"]),
        ("compare: [random]\n1: 2", ["1"]),
    ],
)
def test_a_wrong_file_is_one_line(content: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        load_config(str(file))
    assert "\n" not in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("name", ["papr", "missing.yaml", "README.md", "../configs/demo", ""])
def test_a_missing_config_names_those_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown config .* demo, laptop, paper") as caught:
        load_config(name)
    assert repr(name) in str(caught.value)


def test_no_config_holds_a_place_or_a_number_of_processes() -> None:
    keys = set(Config.model_fields)
    assert not keys & {"results", "out", "cache", "workers", "jobs", "device", "data_root"}
