"""The verb `speed`: what it measures goes to a file, and tells the hours of the grid that its flags choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.command_line import OK
from benchmark.config.config import Config
from benchmark.extras import speed
from benchmark.extras.speed import (
    FULL,
    QUICK,
    Effort,
)
from benchmark.machine.device import Machine
from benchmark.run.estimate import Speed, load_speed
from methods.encoders.dilated import Dilated
from run_benchmark import main
from tests.basic import BASIC


@pytest.mark.parametrize(("flags", "effort"), [([], FULL), (["--quick"], QUICK)])
def test_what_is_measured_is_kept_and_tells_the_hours(
    flags: list[str],
    effort: Effort,
    known_speed: Callable[..., Speed],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[Any] = []

    def known(config: Config, machine: Machine, how: Effort, progress: object) -> Speed:
        asked.extend([config.methods, machine.jobs, how])
        return known_speed(pmq=2.0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "measure_speed", known)
    argv = ["speed", "--methods", "pmq", "--device", "cpu", "--jobs-per-device", "3", "--out", "o", *flags]
    assert main(argv) == 0
    assert asked == [["pmq"], 3, effort]
    assert load_speed(tmp_path / "o" / "speed.json") == known_speed(pmq=2.0)
    *_, hours, wrote = capsys.readouterr().out.splitlines()
    assert hours.startswith("the grid of demo at this speed: pretraining ")
    assert wrote == "wrote o/speed.json"
    assert [path.name for path in tmp_path.iterdir()] == ["o"]


@pytest.mark.slow
def test_a_quick_measurement_is_made_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "ENCODERS", {"dilated": Dilated})  # the others at full size take minutes
    small = ["encoder.hidden=4", "encoder.depth=2", "encoder.output=6", "pretrain.recipe.batch_size=8"]
    patients = [f"data.simulation.patients.{name}={count}" for name, count in (("mimic-iv-ecg", 20), ("ptb-xl", 40))]
    words = ["speed", "--quick", "--config", BASIC, "--methods", "pmq", "--datasets", "ptb-xl", "--device", "cpu"]
    assert main([*words, "--jobs-per-device", "1", "--set", *small, *patients]) == OK
    found = load_speed(tmp_path / "out" / "speed.json")
    assert found is not None
    assert [step.name for step in found.steps] == ["pmq"]
    assert all(seconds > 0 for seconds in found.steps[0].seconds.values())
    said = capsys.readouterr().out
    assert "the grid of basic at this speed: pretraining " in said
    assert "wrote out/speed.json" in said
