"""The config as the rest of the suite reads it: encoders, hyperparameters and recipes, sweeps, changed rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import RATES, by_encoder, labels_of
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from methods import METHODS
from methods.base import Recipe
from methods.encoders.resnet1d import ResNet1d, ResNet1dConfig
from tests.basic import BASIC

SMALL = {"name": "resnet1d", "output": 8}
RECORDINGS = {"data.segmentation.kind": "recordings", "methods": ["moco"]}


@pytest.mark.parametrize(("section", "single"), [("finetune", 1e-4), ("attention", 1e-3), ("supervised", 1e-2)])
def test_a_learning_rate_is_chosen_among_four_under_strict_unless_one_is_given(section: str, single: float) -> None:
    paper, strict, given = ({}, {"protocol": "strict"}, {"protocol": "strict", f"{section}.lr": 0.5})
    rates = [getattr(load_config("paper", overrides), section).lr for overrides in (paper, strict, given)]
    assert rates == [[single], RATES[section], [0.5]]
    assert (len(rates[1]), single in rates[1]) == (4, True)


def test_windows_follow_the_protocol_unless_their_section_says_otherwise() -> None:
    strict = {"protocol": "strict"}
    assert load_config("demo").data.cut().beats == "authors"
    assert load_config("demo", strict).data.cut().beats == "fused"
    assert load_config("demo", {**strict, "data.segmentation.beats": "authors"}).data.cut().beats == "authors"
    assert load_config("demo", strict | RECORDINGS).data.cut() == load_config("demo", RECORDINGS).data.cut()
    cut = load_config("demo", {**RECORDINGS, "data.segmentation.seconds": 2.5, "data.rate": 100}).data.cut()
    assert (cut.kind, cut.samples, cut.stride, cut.pad) == ("recordings", 250, 125, False)
    further = {"data.segmentation.stride": 2.0, "data.segmentation.short": "pad"}
    cut = load_config("demo", {**RECORDINGS, **further, "data.segmentation.seconds": 2.5}).data.cut()
    assert (cut.samples, cut.stride, cut.pad) == (625, 500, True)


def test_an_override_changes_one_hyperparameter_alone() -> None:
    config = load_config("demo", {"methods.pmq.momentum": 0.5, "methods.pmq.recipe.lr": 0.25})
    method: Any = config.method_config("pmq")
    assert (method.momentum, method.recipe.lr, method.queue_size) == (0.5, 0.25, 512)
    assert config.method_config("moco") == load_config("demo").method_config("moco")
    ablated: Any = config.method_config("pmq", {"queue_size": 0})
    assert (ablated.momentum, ablated.queue_size) == (0.5, 0)


def test_the_section_of_an_encoder_is_filled_in(tmp_path: Path) -> None:
    named = load_config("demo", {"encoder.name": "dilated"})
    assert named.encoder == {"name": "dilated", "hidden": 16, "depth": 4, "output": 64, "pool": 3}
    other = load_config("paper", {"encoder": {"name": "resnet1d"}})
    assert other.encoder == {"name": "resnet1d", "output": 128}
    assert (type(other.new_encoder()), other.new_encoder().config) == (ResNet1d, ResNet1dConfig())
    # a name laid over a file leaves the hyperparameters of the file's encoder behind
    assert load_config("demo", {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 128}
    (tmp_path / "mine.yaml").write_text("methods: [pmq]\nencoder: {name: resnet1d, output: 24}\n")
    mine = str(tmp_path / "mine.yaml")
    assert load_config(mine, {"encoder.name": "resnet1d"}).encoder == {"name": "resnet1d", "output": 24}
    assert load_config(mine, {"encoder.name": "dilated"}).encoder["output"] == 320


def test_a_methods_recipe_precedes_the_presets_field_by_field() -> None:
    presets = {
        "unified": load_config("demo", {"pretrain.recipe.lr": 0.5}),
        "paper": load_config("demo", {"pretrain.preset": "paper"}),
    }
    assert presets["paper"].pretrain.recipe is None
    for name in (name for name, kind in METHODS.items() if kind.trains):
        assert presets["unified"].method_config(name).recipe == Recipe(lr=0.5, batch_size=64)
        assert presets["paper"].method_config(name).recipe == METHODS[name].Config().recipe
    for preset, before in presets.items():
        after = load_config("demo", {"pretrain.preset": preset, "methods.clocs.recipe.lr": 0.125})
        expected = replace(before.method_config("clocs").recipe, lr=0.125)
        assert after.method_config("clocs").recipe == expected


def test_dropout_in_fine_tuning_is_the_authors_under_their_preset_alone() -> None:
    paper = {"pretrain.preset": "paper"}
    authors = {name: load_config("demo", paper).finetuning(kind).encoder_dropout for name, kind in METHODS.items()}
    assert authors == dict.fromkeys(METHODS, 0.0) | {"pmq-released": 0.1}
    for overrides, dropout in (({}, 0.0), ({"finetune.encoder_dropout": 0.25, **paper}, 0.25)):
        config = load_config("demo", overrides)
        assert {config.finetuning(method).encoder_dropout for method in METHODS.values()} == {dropout}


def test_each_encoder_of_a_config_has_a_label_of_its_own() -> None:
    further = [SMALL, {"name": "dilated", "hidden": 4, "depth": 2, "output": 8}]
    config = load_config(BASIC, {"encoders": further})
    configs = by_encoder(config)
    assert configs[next(iter(configs))] is config
    assert [(one.encoder, one.encoders) for one in list(configs.values())[1:]] == [(one, []) for one in config.encoders]
    sections = [{"name": "dilated", "hidden": 4, "depth": 2}, {"name": "dilated", "hidden": 8, "depth": 2}, SMALL]
    assert labels_of(sections) == ["dilated hidden 4", "dilated hidden 8", "resnet1d"]
    with pytest.raises(
        ConfigError, match="encoders: 'resnet1d' is named twice, by resnet1d; name it once, or give one"
    ):
        load_config(BASIC, {"encoders": [SMALL, SMALL]})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("momo", "momo"), "methods: .*/0.py and .*/1.py have the same name 'momo'"),
        (("momo", "heart-rate"), "methods: .*/1.py has the name 'heart-rate' of a baseline"),
    ],
)
def test_a_name_stands_for_one_row(names: tuple[str, str], message: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.py" for number in range(2)]
    for file, name in zip(files, names, strict=True):
        file.write_text(f"from methods.pmq import PMQ\nclass Mine(PMQ):\n    name, title = {name!r}, 'Mine'\n")
    with pytest.raises(ConfigError, match=message):
        load_config("demo", {"methods": list(map(str, files))})


def test_encoders_of_one_name_in_two_files_are_refused_by_their_files(tmp_path: Path) -> None:
    example = Path("docs/encoder/gru.py").read_text()
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file in files:
        file.write_text(example)
    with pytest.raises(ConfigError, match=r"'gru' is named twice, by .*first.* and .*second.*; .* another `name`"):
        load_config(BASIC, {"encoder": {"name": str(files[0])}, "encoders": [{"name": str(files[1]), "output": 8}]})


def test_a_method_file_has_hyperparameters_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    text = (
        "from pydantic.dataclasses import dataclass\nfrom methods.pmq import PMQ, PMQConfig\n\n\n"
        "@dataclass(frozen=True)\nclass Hyperparameters(PMQConfig):\n    extra: float = 1.0\n\n\n"
        "class Plain(PMQ):\n    name, title, Config = 'plain', 'Plain', Hyperparameters\n"
    )
    file.write_text(text)
    rows = {"methods": [str(file)]}
    hyperparameters: Any = load_config("demo", {**rows, "hyperparameters": {"plain": {"extra": 2}}}).method_config(
        "plain"
    )
    assert (hyperparameters.extra, hyperparameters.momentum) == (2.0, 0.999)
