"""A YAML file that is no config: its values, or one line.

Overrides of knobs: the last one stands, and of a recipe the fields that no later one names stay.

Cards on the command line: their content is in the config, their folder among the places, their names everywhere.

Encoders of a config: one or several, named or with knobs, and refused where they cannot take the windows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import Verb, parse, refuse_unknown
from benchmark.config.config import Config, load_config, validate
from benchmark.config.errors import ConfigError
from benchmark.config.flags import config_of, place_of
from benchmark.config.refuse import by_encoder
from benchmark.config.words import labels_of, laid_over, load_card, values_of
from tests.basic import BASIC


def test_values_are_as_they_look(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 1e-3\nb: on\nc: [010, 2]\n")
    assert values_of(tmp_path / "x.yaml") == {"a": 0.001, "b": "on", "c": ["010", 2]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "x.yaml cannot be read: No such file"),
        (b"a: [", "x.yaml is not YAML: "),
        (b"a: &b 1\nc: *b", r"x.yaml is not YAML: the alias \*b is not read"),
        (b"\xff\xfe", "x.yaml is not UTF-8 text: save it as UTF-8"),
        (b"a: !!python/object:os.system 1", "x.yaml is not YAML: "),
    ],
)
def test_anything_else_is_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        values_of(tmp_path / "x.yaml")
    assert "\n" not in str(caught.value)


KNOBS = {"momentum": 0.9, "recipe": {"lr": 1.0, "batch_size": 8}}


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, KNOBS),
        ({"momentum": 0.5}, {**KNOBS, "momentum": 0.5}),
        ({"queue_size": 0}, {**KNOBS, "queue_size": 0}),
        ({"recipe": {"lr": 2.0}}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 8}}),
        ({"recipe.lr": 2.0}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 8}}),
        ({"recipe": {"lr": 2.0}, "recipe.batch_size": 4}, {"momentum": 0.9, "recipe": {"lr": 2.0, "batch_size": 4}}),
        ({"recipe": 3}, {"momentum": 0.9, "recipe": 3}),
    ],
)
def test_overrides_are_laid_over_knobs(overrides: dict[str, Any], expected: dict[str, Any]) -> None:
    assert laid_over(KNOBS, overrides) == expected
    assert KNOBS == {"momentum": 0.9, "recipe": {"lr": 1.0, "batch_size": 8}}


CARD: dict[str, Any] = {
    "name": "ours",
    "title": "Our hospital",
    "signals": {"files": "waves/{recording}.hea"},
    "table": {"file": "labels.csv", "recording": "id", "split": {"column": "fold", "train": [1], "test": [2]}},
    "labels": {"column": "rhythm", "classes": ["SR", "AF"], "first_counts": True},
}
VERBS: dict[str, Verb] = {"run": VERBS["run"]}


@pytest.fixture
def card(tmp_path: Path) -> Path:
    return saved(tmp_path / "data" / "ours.yaml", CARD)


def saved(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))  # JSON is YAML
    return path


def read(*words: str | Path) -> tuple[Config, dict[str, Path]]:
    verb, arguments = parse(VERBS, ["run", *map(str, words)])
    refuse_unknown(verb, arguments)
    return config_of(arguments), place_of(arguments).paths


def refusal(*words: str | Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_card_is_named_by_its_file_and_then_by_its_name(card: Path) -> None:
    config, paths = read("--datasets", card, "ptb-xl", "--pretrain-dataset", "ours", "--data", "ptb-xl=/x")
    assert (config.data.datasets, config.data.pretrain) == (["ours", "ptb-xl"], "ours")
    assert paths == {"ours": card.parent, "ptb-xl": Path("/x")}
    assert config.data.simulation is None
    assert config.data.known()[-1] == "ours"
    source = config.data.source("ours")
    assert (source.title, source.classes, source.first_label_counts) == ("Our hospital", ("SR", "AF"), True)
    assert config.data.source("ptb-xl").title == "PTB-XL"


def test_the_config_holds_the_content_and_no_path(card: Path, tmp_path: Path) -> None:
    config, _ = read("--datasets", card, "--pretrain-dataset", card)
    stored = json.loads(json.dumps(config.model_dump(mode="json"), sort_keys=True))
    assert str(tmp_path) not in json.dumps(stored)
    again = validate(stored)
    assert again == config
    assert again.data.source("ours").classes == ("SR", "AF")
    data = {name: stored["data"][name] for name in ("cards", "pretrain")}
    file = saved(tmp_path / "mine.yaml", {"methods": ["pmq"], "data": data})
    assert read("--config", file, "--datasets", "ours")[0].data.source("ours").title == "Our hospital"


def test_names_and_cards_must_fit(card: Path, tmp_path: Path) -> None:
    other = saved(tmp_path / "other" / "ours.yaml", CARD | {"title": "Another"})
    assert "another card is named 'ours' too" in refusal("--datasets", card, other)
    assert refusal("--datasets", "ptbxl").startswith("unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)")
    assert "cards" not in refusal("--datasets", "ptbxl")
    assert "unknown dataset 'our' (did you mean 'ours'?)" in refusal("--datasets", card, "our")
    assert "--data: unknown dataset 'our' (did you mean 'ours'?)" in refusal("--datasets", card, "--data", "our=/x")
    taken = saved(tmp_path / "taken.yaml", CARD | {"name": "ptb-xl"})
    assert "'ptb-xl' is a built-in dataset; give the card another name" in refusal("--datasets", taken)
    unlabelled = saved(tmp_path / "corpus.yaml", {"name": "corpus", "signals": {"files": "{recording}.edf"}})
    assert "'corpus' has no labels" in refusal("--datasets", unlabelled)
    assert load_card(str(unlabelled)).classes == ()
    with pytest.raises(ConfigError, match=r"'ours' is the dataset of a card; set data\.simulation=null"):
        load_config(BASIC, {"data.cards.ours": CARD, "data.datasets": ["ours"]})
    with pytest.raises(
        ConfigError, match=r"unknown config key 'data\.cards\.ours\.label' \(did you mean .*ours\.labels'"
    ):
        load_config(BASIC, {"data.cards.ours": CARD | {"label": {}}})
    with pytest.raises(ConfigError, match="the card 'theirs' is named 'ours'"):
        load_config(BASIC, {"data.cards.theirs": CARD})


SMALL = {"name": "resnet1d", "output": 8}


def config_with(*further: dict[str, Any], **overrides: Any) -> Config:
    return load_config(BASIC, {"encoders": list(further), **overrides})


def test_each_encoder_has_a_config_of_its_own() -> None:
    config = config_with(SMALL, {"name": "dilated", "hidden": 4, "depth": 2, "output": 8})
    found = by_encoder(config)
    assert found[next(iter(found))] is config
    assert [own.encoder for own in found.values()] == [config.encoder, *config.encoders]
    assert [own.encoders for own in list(found.values())[1:]] == [[], []]
    assert by_encoder(load_config(BASIC)) == {"": load_config(BASIC)}


def test_encoders_of_one_name_are_told_apart_by_their_knobs() -> None:
    sections = [
        {"name": "dilated", "hidden": 4, "depth": 2},
        {"name": "dilated", "hidden": 8, "depth": 2},
        {"name": "resnet1d"},
    ]
    assert labels_of(sections) == ["dilated hidden 4", "dilated hidden 8", "resnet1d"]
    with pytest.raises(ConfigError, match="encoders: 'resnet1d' is named twice; name it once, or give one of them"):
        config_with(SMALL, SMALL)


def test_the_flag_names_them_and_leaves_each_the_knobs_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(Path(BASIC).read_text() + "encoders: [{name: resnet1d, output: 8}]\n")
    whole = load_config(str(file))
    assert [own["output"] for own in whole.encoders] == [8]
    turned = load_config(str(file), {"encoder.name": "resnet1d", "encoders": [{"name": "dilated"}]})
    assert turned.encoder == whole.encoders[0]
    assert turned.encoders == [whole.encoder]
    alone = load_config(str(file), {"encoder.name": "resnet1d"})
    assert (alone.encoder, alone.encoders) == (whole.encoders[0], [])
    assert load_config(str(file), {"encoder.name": "xresnet1d101"}).encoder["output"] == 256


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"encoder.name": "vit1d", "encoder.patch": 70, "encoder.length": 2800},
            "vit1d cannot take windows of 300 samples: encoder.patch 70 does not divide them; set encoder.patch",
        ),
        (
            {"encoders": [{"name": "s4", "length": 100}]},
            "encoder s4 cannot take windows of 300 samples: encoder.length is 100; set encoder.length=150",
        ),
        ({"encoders": [{"name": "resnet"}]}, "unknown encoder 'resnet': did you mean 'resnet1d'?"),
        ({"encoders": [{"name": "resnet1d", "depth": 2}]}, "unknown config key 'encoders.0.depth'"),
        ({"encoders": [{"name": "resnet1d", "output": 0}]}, "encoders.0.output: input should be greater than"),
        ({"encoders": ["resnet1d"]}, "encoders.0: {name: dilated} was expected"),
        (
            {"encoders": [SMALL], "sweeps": {"pmq": {"encoder.hidden": [4]}}},
            "unknown config key 'sweeps.pmq.encoder.hidden'",
        ),
    ],
)
def test_an_encoder_that_cannot_be_is_refused_in_one_line(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(BASIC, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
