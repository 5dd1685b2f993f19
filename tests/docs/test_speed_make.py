"""docs/evidence/speed: the same updates from disk as in memory, in turns; whole runs that leave nothing behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.data.batches import MappedSignal
from benchmark.extras.speed import Setting
from benchmark.machine.ranks import Machine
from docs.evidence.speed import make as speed
from methods.encoders.dilated import DilatedConfig
from methods.pmq import PMQConfig

TINY = {
    "methods": ["random"], "data.simulation.patients": {"mimic-iv-ecg": 6, "chapman": 40}, "finetune.epochs": 1,
    "seeds": [41, 42],
}  # fmt: skip


@pytest.mark.slow
def test_a_run_is_timed_from_its_plan_to_its_last_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "SPEED_GRID", speed.SPEED_GRID | TINY)
    found = speed.tasks_per_hour(Machine(torch.device("cpu"), "float32", 7), workers=(1,))
    assert found[1] > 3600 * 4 / 600
    assert list(tmp_path.iterdir()) == []


def test_a_failed_task_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(speed, "run_grid", lambda request, console: asked.append(request) or 1)
    with pytest.raises(RuntimeError, match="a task of the small grid has failed"):
        speed.tasks_per_hour(Machine(torch.device("cpu"), "float32", 7))
    assert (asked[0].machine.jobs, asked[0].results.parent.name) == (1, "1")


SIZE = DilatedConfig(hidden=4, depth=2, output=8)
SETTING = Setting("pmq", PMQConfig(queue_size=16), "dilated", SIZE, 20, 4, "float32", "cpu")


@pytest.fixture
def corpus(tmp_path: Path) -> speed.Corpus:
    made = speed.Corpus(tmp_path / "corpus.f16", trials=70, samples=20)  # more than a tile
    speed.write(made)
    return made


def test_the_file_holds_the_corpus_and_noise_everywhere(corpus: speed.Corpus) -> None:
    assert corpus.file.stat().st_size == corpus.bytes == 70 * 10 * 20 * 12 * 2
    memory, disk = (speed.source_of(corpus, torch.device("cpu"), streamed) for streamed in (False, True))
    assert isinstance(memory.signal, torch.Tensor)
    assert isinstance(disk.signal, MappedSignal)
    assert memory.signal.float().std(dim=(1, 2, 3)).min() > 0.9


def test_both_sides_make_the_same_updates(corpus: speed.Corpus) -> None:
    losses = []
    for streamed in (False, True):
        with speed.updates(corpus, SETTING, streamed) as update:
            losses.append([float(update()) for _ in range(2 * speed.UPDATES + 1)])  # type: ignore[arg-type]
    assert losses[0] == losses[1]
    assert len(set(losses[0])) > speed.UPDATES


@pytest.mark.slow
def test_they_are_timed_in_turns() -> None:
    first, second = speed.streaming_speed(replace(SETTING, samples=300), 1, 2)
    assert first.startswith("a corpus of 0.00 GiB read from disk")
    assert second.startswith("memory / disk ")
