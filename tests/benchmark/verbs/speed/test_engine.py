"""Tasks per hour are those of whole runs, which leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from benchmark.run.machine import Machine
from benchmark.verbs.run import grid
from benchmark.verbs.speed import engine
from benchmark.verbs.speed.engine import WORKERS, engine_speed

TINY = {
    "methods": ["random"], "data.simulation.patients": {"mimic-iv-ecg": 6, "chapman": 40}, "finetune.epochs": 1,
    "seeds": [41, 42],
}  # fmt: skip


@pytest.mark.slow
def test_a_run_is_timed_from_its_plan_to_its_last_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "GRID", engine.GRID | TINY)
    (found,) = engine_speed(Machine(torch.device("cpu"), "float32", 7), workers=(1,))
    assert (found.workers, found.tasks) == (1, 4)
    assert 0 < found.seconds < 600
    assert list(tmp_path.iterdir()) == []


def test_each_number_of_workers_has_a_store_of_its_own_and_a_failed_task_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(grid, "run_grid", lambda request, console: asked.append(request) or 1)
    with pytest.raises(RuntimeError, match="a task of the small grid has failed"):
        engine_speed(Machine(torch.device("cpu"), "float32", 7))
    assert WORKERS == (1, 2, 4)
    assert (asked[0].machine.jobs, asked[0].results.parent.name) == (1, "1")
