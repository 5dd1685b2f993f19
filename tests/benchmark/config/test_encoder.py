"""Encoders of a config: one or several, named or with knobs, and refused where they cannot take the windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmark.config.change import by_encoder
from benchmark.config.command_line.verb import OK
from benchmark.config.config import Config
from benchmark.config.encoder import labels_of
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from run_benchmark import main
from tests.basic import BASIC

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


def test_a_config_of_one_encoder_is_stored_as_before_there_could_be_several() -> None:
    assert "encoders" not in load_config(BASIC).model_dump()
    assert load_config(BASIC, {"encoders": []}) == load_config(BASIC)
    stored = config_with(SMALL).model_dump(mode="json")
    assert stored["encoders"] == [SMALL]
    assert Config.model_validate(stored) == config_with(SMALL)


def test_encoders_of_one_name_are_told_apart_by_their_knobs() -> None:
    sections = [{"hidden": 4, "depth": 2}, {"name": "dilated", "hidden": 8, "depth": 2}, {"name": "resnet1d"}]
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
            "vit1d cannot take windows of 300 samples: encoder.patch 70 does not divide them; use 25 or 50 or 100, or",
        ),
        (
            {"encoders": [{"name": "s4", "length": 100}]},
            "encoder s4 cannot take windows of 300 samples: encoder.length 100 reaches 200 of them; set encoder.len",
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


def test_a_window_that_does_not_fit_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = ["data.segmentation=windows", "data.window_seconds=0.61"]
    assert main(["--config", BASIC, "--encoder", "dilated", "vit1d", "--set", *sizes]) != OK
    assert (
        "encoder vit1d cannot take windows of 152 samples: encoder.patch 25 does not divide" in capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())
