"""The file of a measurement: what is read is what was saved, or nothing; and whether it fits a machine and config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchmark.verbs.speed.record import Speed, load_speed, save_speed
from methods.encoders import identity
from methods.encoders.dilated import Dilated, DilatedConfig

DEVICE = {"type": "cpu", "name": "x", "threads": 1}


def test_what_is_read_is_what_was_saved(known_speed: Callable[..., Speed], tmp_path: Path) -> None:
    speed = known_speed(pmq=2.0, comet=8.0)
    save_speed(speed, tmp_path / "speed.json")
    assert load_speed(tmp_path / "speed.json") == speed
    read = json.loads((tmp_path / "speed.json").read_text())
    assert read["steps"][0]["name"] == "pmq"
    assert read["versions"]["torch"] == torch.__version__


@pytest.mark.parametrize("content", ["", "{}", '{"effort": "full"', "[1, 2]"])
def test_a_damaged_file_is_no_measurement(content: str, tmp_path: Path) -> None:
    (tmp_path / "speed.json").write_text(content)
    assert load_speed(tmp_path / "speed.json") is None
    assert load_speed(tmp_path / "absent.json") is None


def test_what_does_not_fit_is_named(known_speed: Callable[..., Speed]) -> None:
    speed, encoder = known_speed(), identity(Dilated, DilatedConfig())
    assert speed.misfit(encoder, 300, DEVICE, "float32") == ""
    assert speed.misfit(encoder, 250, DEVICE | {"threads": 2}, "float32") == "device and windows"
    assert speed.misfit(identity(Dilated, DilatedConfig(hidden=8)), 300, DEVICE, "bf16") == "precision and encoder"
