"""The verb `speed`: what it measures goes to a file, and tells the hours of the grid that its flags choose.

Tasks per hour are those of whole runs, which leave nothing behind.

The speed of a streamed corpus: the same updates as in memory, in turns, by a process that has not its room.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.cli import run
from benchmark.config.command_line import OK
from benchmark.config.config import Config
from benchmark.data.batches import MappedSignal
from benchmark.extras import speed
from benchmark.extras.speed import (
    FULL,
    QUICK,
    UPDATES,
    WORKERS,
    Corpus,
    Effort,
    Setting,
    engine_speed,
    source_of,
    streaming_speed,
    updates,
    write,
)
from benchmark.machine.ranks import Machine
from benchmark.run.estimate import Speed, load_speed
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.pmq import PMQConfig
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


TINY = {
    "methods": ["random"], "data.simulation.patients": {"mimic-iv-ecg": 6, "chapman": 40}, "finetune.epochs": 1,
    "seeds": [41, 42],
}  # fmt: skip


@pytest.mark.slow
def test_a_run_is_timed_from_its_plan_to_its_last_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "SPEED_GRID", speed.SPEED_GRID | TINY)
    (found,) = engine_speed(Machine(torch.device("cpu"), "float32", 7), workers=(1,))
    assert (found.workers, found.tasks) == (1, 4)
    assert 0 < found.seconds < 600
    assert list(tmp_path.iterdir()) == []


def test_each_number_of_workers_has_a_store_of_its_own_and_a_failed_task_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(run, "run_grid", lambda request, console: asked.append(request) or 1)
    with pytest.raises(RuntimeError, match="a task of the small grid has failed"):
        engine_speed(Machine(torch.device("cpu"), "float32", 7))
    assert WORKERS == (1, 2, 4)
    assert (asked[0].machine.jobs, asked[0].results.parent.name) == (1, "1")


SIZE = DilatedConfig(hidden=4, depth=2, output=8)
SETTING = Setting("pmq", PMQConfig(queue_size=16), "dilated", SIZE, 20, 4, "float32", "cpu")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    made = Corpus(tmp_path / "corpus.f16", trials=70, samples=20)  # more than a tile
    write(made)
    return made


def test_the_file_holds_the_corpus_and_noise_everywhere(corpus: Corpus) -> None:
    assert corpus.file.stat().st_size == corpus.bytes == 70 * 10 * 20 * 12 * 2
    memory, disk = (source_of(corpus, torch.device("cpu"), streamed) for streamed in (False, True))
    assert isinstance(memory.signal, torch.Tensor)
    assert isinstance(disk.signal, MappedSignal)
    assert memory.signal.float().std(dim=(1, 2, 3)).min() > 0.9


def test_both_sides_make_the_same_updates(corpus: Corpus) -> None:
    losses = []
    for streamed in (False, True):
        with updates(corpus, SETTING, streamed) as update:
            losses.append([float(update()) for _ in range(2 * UPDATES + 1)])  # type: ignore[arg-type]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > UPDATES


@pytest.mark.slow
def test_they_are_timed_in_turns() -> None:
    found = streaming_speed(replace(SETTING, samples=300), 1, 2)
    assert 1 / 1024 <= found.gib < 2 / 1024
    assert found.limit_gib in (None, 64 / 1024)
    assert set(found.seconds) == {"memory", "disk"}
    assert found.ratio.lowest <= found.ratio.median <= found.ratio.highest
    assert found.cpu_ratio.median > 0
