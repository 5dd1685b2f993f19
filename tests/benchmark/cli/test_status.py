"""What is done, has failed, runs and is left is told apart, from the store alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.results.files import file_lock
from benchmark.results.store import Failure, Plan, PlannedCell, Store
from benchmark.run.progress import PROGRESS, progress_file
from run_benchmark import main

KEYS = ("done", "failed", "nobody")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three cells of PMQ, one of each state."""
    store = Store(tmp_path / "runs")
    cells = [PlannedCell(key, "pmq", "linear", "chapman", 0.5, seed) for seed, key in enumerate(KEYS)]
    config = {"protocol": "paper", "data": {"labels": "single"}}
    facts = {"title": "Chapman", "recordings": 3, "patients": 2}
    store.save_plan(
        Plan("a1", config, {"pmq": "PMQ"}, {"chapman": facts}, {"name": "mimic-iv-ecg", **facts}, cells=cells)
    )
    store.cells.mkdir()
    (store.cells / "done.json").touch()
    store.save_failure("failed", "it", Failure("ValueError: out of luck\nin many words"))
    return store


@pytest.fixture
def shown(store: Store, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What `status` prints."""

    def status() -> str:
        assert main(["status", "--results", str(store.root)]) == 0
        return capsys.readouterr().out

    return status


def test_each_state_is_counted_and_named(shown: Callable[[], str]) -> None:
    text = shown()
    assert "1 of 3 cells done, 1 failed, 1 to do\n" in text
    assert "failed: pmq linear chapman 0.5 seed 1: ValueError: out of luck\n" in text
    assert "nothing works on the rest; the command that began this grid" in text


def test_what_runs_says_how_far_it_is_and_who_runs_it(store: Store, shown: Callable[[], str]) -> None:
    folder = store.pretrained / "key"
    with progress_file(folder, "pmq pretrain seed 42") as write, file_lock(store.lock):
        write(120, 600, "epoch 2/10 loss 1.2345")
        then = time.time() - 125
        os.utime(folder / PROGRESS, (then, then))
        text = shown()
        assert "pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 min ago\n" in text
        assert f":{os.getpid()} works on it\n" in text
    (folder / PROGRESS).write_text("{")
    assert "pmq pretrain" not in shown()


def test_a_store_without_a_plan_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--results", str(tmp_path)]) == 1
    assert "start a run with" in capsys.readouterr().err
