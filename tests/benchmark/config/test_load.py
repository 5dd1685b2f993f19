"""YAML as people mean it, overrides of any key, cards of datasets, and one line for a file that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import config_names, load_config, parse_yaml, validate, with_cards
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
        (b"a: [", "config .*x.yaml' is not YAML: "),
        (b"\xff\xfe", "x.yaml' cannot be read as UTF-8 text: "),
        (b"a: !!python/object:os.system 1", "is not YAML: "),
        (b"methods: [pmq]\npretrain: {preset: paper, recipe: {lr: 0.5}}", "pretrain.recipe: each method has its own"),
    ],
)
def test_a_file_that_is_no_config_is_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(str(tmp_path / "x.yaml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", config_names())
def test_packaged_configs_are_valid_and_come_back_from_a_plan_as_they_were(name: str) -> None:
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


def card_file(path: Path, content: Any) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))  # JSON is YAML
    return str(path)


def with_card(*words: str, **further: Any) -> Config:
    return load_config(BASIC, with_cards({"data.datasets": list(words), "data.simulation": None} | further))


def test_a_card_is_named_by_its_file_and_the_config_holds_its_content_and_no_path(tmp_path: Path) -> None:
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
