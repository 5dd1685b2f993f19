"""YAML as people mean it, overrides of any key, cards of datasets, and one line for a file that cannot be used."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import CONFIGS, load_card, load_config, parse_yaml, set_key, validate, with_cards
from benchmark.data.datasets.base import DatasetError
from methods import BEYOND
from methods.base import Recipe
from tests.basic import ANYWHERE, BASIC

SCALARS = {
    "1e-3": 0.001, "1E3": 1000, "1.0E3": 1000.0, "1e999": float("inf"), "-.5": -0.5, "5.": 5.0, "0": 0, "-7": -7,
    "true": True, "false": False, "null": None, "": None, "[0.5, 1e-2]": [0.5, 0.01], "{a: 1}": {"a": 1}, "on": "on",
    "no": "no", "010": "010", "0x10": "0x10", "1_000": "1_000", "1:30": "1:30", "2020-01-01": "2020-01-01",
    "files/p10": "files/p10", "'1e-3'": "1e-3",
}  # fmt: skip
CARD: dict[str, Any] = {
    "name": "ours",
    "title": "Our hospital",
    "signals": {"files": "waves/{recording}.hea"},
    "table": {"file": "labels.csv", "recording": "id", "split": {"column": "fold", "train": [1], "test": [2]}},
    "labels": {"column": "rhythm", "classes": ["SR", "AF"], "first_counts": True},
}


def test_scalars_are_what_people_mean() -> None:
    assert repr({text: parse_yaml(text) for text in SCALARS}) == repr(SCALARS)  # types too


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a:\n  - [", "config .*x.yaml' is not YAML: .* found '<stream end>' in \"<file>\", line 2, column 6$"),
        (b"\xff\xfe", "x.yaml' cannot be read as UTF-8 text: "),
        (b"a: !!python/object:os.system 1", "is not YAML: "),
        (b"a: [&a [*a]]", "is not YAML: it has an alias"),
        (b"a: " + b"[" * 2000, "is not YAML: "),
        (b"#" * 1_000_001, "it is no file of at most 1,000,000 bytes"),
        (b"seeds: [1]\nratios: [0.1]\nseeds: [2]", "key 'seeds' stands twice, in lines 1 and 3; remove one"),
        (
            b"hyperparameters: {pmq: {momentum: 0.1,\n 'momentum': 0.2}}",
            "key 'momentum' stands twice, in lines 1 and 2",
        ),
        (b"methods: [pmq]\npretrain: {preset: paper, recipe: {lr: 0.5}}", "pretrain.recipe: each method has its own"),
    ],
)
def test_a_file_that_is_no_config_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(str(tmp_path / "x.yaml"))
    assert "\n" not in str(caught.value)


ODD = ("5", "[1]", "[]", "{}", "''", "null", "true", "[[1]]", "{a: {b: 1}}", "[null]", "!!int ''", "!!timestamp 1")
"""Values of which a key takes few."""
OF_THE_CODE = r"\n|function-|instance of|object to|after validation|(\b\w+): \1\b"
"""What is no part of a message: words of pydantic and Python, and a section named twice."""
TAKEN = {
    "data": {"{}"},
    "data.pretrain": set(),
    "data.datasets": set(),
    "data.simulation.seed": {"5"},
    "encoder": {"{}"},
    "encoder.name": set(),
    "encoder.hidden": {"5"},
    "encoders": {"[]"},
    "hyperparameters.pmq.momentum": set(),
    "methods.pmq.recipe": {"{}"},
    "methods.pmq.recipe.lr": {"5"},
    "sweeps.pmq.momentum": {"[1]"},
    "ablations.pmq": {"{}"},
    "finetune.lr": {"5", "[1]"},
    "ratios": {"[1]"},
}
"""Key of a config -> the odd values that it takes."""


@pytest.mark.parametrize("key", TAKEN)
def test_a_value_of_another_kind_is_one_line(key: str) -> None:
    refusals = {}
    for text in ODD:
        try:
            load_config(BASIC, with_cards({key: parse_yaml(text)}))
        except ConfigError as problem:
            refusals[text] = str(problem)
    assert {*ODD} - refusals.keys() == TAKEN[key]
    assert not re.search(OF_THE_CODE, " ".join(refusals.values()))


@pytest.mark.parametrize("content", [5, [1], [], None, "x", {"name": [1]}, [{"name": [1]}]])
@pytest.mark.parametrize("key", ["encoder", "encoders", "data", "hyperparameters", "pretrain"])
def test_an_override_of_a_section_of_another_kind_is_no_traceback(key: str, content: Any, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(json.dumps({"methods": ["pmq"], key: content}))
    overrides = {"encoder.name": "dilated", "encoders": [{"name": "resnet1d"}], "data.segmentation.kind": "recordings"}
    for change in ({}, overrides, {"pretrain.preset": "paper", "protocol": "paper"}):
        with suppress(ConfigError):
            load_config(str(tmp_path / "x.yaml"), change)


@pytest.mark.parametrize("name", CONFIGS)
def test_packaged_configs_survive_a_plan(name: str) -> None:
    config = load_config(name)
    assert config.name == name
    assert len(config.caption) > 20
    assert load_config(name, {"methods": ANYWHERE}).methods == ANYWHERE
    assert name == "literature" or not {*config.methods} & {*BEYOND}
    again = validate(config.model_dump(mode="json"))
    assert again == config


def test_an_override_drops_what_it_puts_out_of_effect(tmp_path: Path) -> None:
    config = load_config("demo", {"pretrain.preset": "paper"})
    assert config.pretrain.recipe is None
    assert config.method_config("clocs").recipe == Recipe("adam", lr=1e-4, weight_decay=0.0, schedule="constant")
    assert load_config("real", {"protocol": "paper", "subsets": 1}).data.folds is None
    (tmp_path / "crops.yaml").write_text("methods: [pmq]\ndata: {segmentation: {kind: recordings, seconds: 5}}\n")
    heartbeats = load_config(str(tmp_path / "crops.yaml"), {"data.segmentation.kind": "heartbeats"})
    assert heartbeats.data.segmentation == load_config("paper").data.segmentation


@pytest.mark.parametrize(
    "key", ["name", "signals.files", "signals.leads", "table.file", "table.split", "labels.classes"]
)
@pytest.mark.parametrize("value", [5, [1], [], {}, "", None, True, [["x"]], {"a": {"b": 1}}, "x" * 300])
def test_a_card_of_odd_values_is_one_line(key: str, value: Any, tmp_path: Path) -> None:
    content: dict[str, Any] = json.loads(json.dumps(CARD))
    set_key(content, key, value)
    with pytest.raises((ConfigError, DatasetError)) as caught:  # the folder is empty
        load_card(card_file(tmp_path / "ours.yaml", content))(tmp_path).listing()
    assert not re.search(OF_THE_CODE, str(caught.value))


def card_file(path: Path, content: Any) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))  # JSON is YAML
    return str(path)


def with_card(*words: str, **further: Any) -> Config:
    return load_config(BASIC, with_cards({"data.datasets": list(words), "data.simulation": None} | further))


def test_a_config_holds_the_content_of_a_card_without_its_path(tmp_path: Path) -> None:
    card = card_file(tmp_path / "data" / "ours.yaml", CARD)
    config = with_card(card, "ptb-xl", **{"data.pretrain": card})
    assert (config.data.datasets, config.data.pretrain) == (["ours", "ptb-xl"], "ours")
    source = config.data.source("ours")
    assert (source.title, source.classes, source.first_label_counts) == ("Our hospital", ("SR", "AF"), True)
    stored = json.dumps(config.model_dump(mode="json"), sort_keys=True)
    assert str(tmp_path) not in stored
    assert validate(json.loads(stored)) == config


@pytest.mark.parametrize("where", ["column", "path", "nowhere"])
def test_own_data_that_state_patients_are_split_by_patient_unless_a_protocol_is_chosen(
    where: str, tmp_path: Path
) -> None:
    signals = {"files": "{patient}/{recording}.hea"} if where == "path" else {"files": "{recording}.hea"}
    table = {"file": "t.csv", "recording": "id"} | ({"patient": "who"} if where == "column" else {})
    card = card_file(tmp_path / "ours.yaml", CARD | {"signals": signals, "table": table})
    pretrain = {"data.pretrain": card}
    assert with_card(card, **pretrain).protocol == ("paper" if where == "nowhere" else "strict")
    assert with_card(card, protocol="paper", **pretrain).protocol == "paper"
