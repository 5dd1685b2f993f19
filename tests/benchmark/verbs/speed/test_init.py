"""The verb `speed`: what it measures goes to a file, and tells the hours of the grid that its flags choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.config import Config
from benchmark.run.machine import Machine
from benchmark.verbs.speed import measure
from benchmark.verbs.speed.measure import FULL, QUICK, Effort
from benchmark.verbs.speed.record import Speed, load_speed
from run_benchmark import main


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
    monkeypatch.setattr(measure, "measure_speed", known)
    argv = ["speed", "--methods", "pmq", "--device", "cpu", "--jobs-per-device", "3", "--out", "o", *flags]
    assert main(argv) == 0
    assert asked == [["pmq"], 3, effort]
    assert load_speed(tmp_path / "o" / "speed.json") == known_speed(pmq=2.0)
    *_, hours, wrote = capsys.readouterr().out.splitlines()
    assert hours.startswith("the grid of demo at this speed: pretraining ")
    assert wrote == "wrote o/speed.json"
    assert [path.name for path in tmp_path.iterdir()] == ["o"]
