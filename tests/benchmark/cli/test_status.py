"""What is done, has failed, runs and is left is told apart, from the store alone."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

from benchmark.cli import look as status_module
from benchmark.cli.look import look, show
from benchmark.results.files import file_lock
from benchmark.results.store import NoResults, Plan, PlannedCell, Store
from benchmark.run.progress import PROGRESS, ProgressFile
from benchmark.screen import open_console
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
    store.save_failure("failed", "it", "ValueError: out of luck\nin many words")
    return store


def shown(store: Store) -> str:
    file = io.StringIO()
    show(open_console(file), look(store))
    return file.getvalue()


def test_each_state_is_counted_and_named(store: Store) -> None:
    assert look(store).total == {"done": 1, "failed": 1, "to do": 1}
    text = shown(store)
    assert "1 of 3 cells done, 1 failed, 1 to do\n" in text
    assert "failed: pmq linear chapman 0.5 seed 1: ValueError: out of luck\n" in text
    assert "nothing works on the rest; the command that began this grid" in text


def test_what_runs_says_how_far_it_is_and_who_runs_it(store: Store) -> None:
    folder = store.pretrained / "key"
    with ProgressFile(folder, "pmq pretrain seed 42") as progress, file_lock(store.lock):
        progress.write(120, 600, "epoch 2/10 loss 1.2345")
        then = time.time() - 125
        os.utime(folder / PROGRESS, (then, then))
        text = shown(store)
        assert "pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 min ago\n" in text
        assert f":{os.getpid()} works on it\n" in text
    (folder / PROGRESS).write_text("{")
    assert "pmq pretrain" not in shown(store)


def test_a_store_without_a_plan_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(NoResults, match="start a run with"):
        look(Store(tmp_path))


def test_watching_ends_when_nothing_is_left(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[float] = []

    def wait(seconds: float) -> None:
        looks.append(seconds)
        for key in KEYS if len(looks) == 2 else ():
            (store.cells / f"{key}.json").touch()

    monkeypatch.setattr(status_module.time, "sleep", wait)
    assert main(["status", "--watch", "--results", str(store.root)]) == 0
    assert len(looks) == 2
    assert capsys.readouterr().out.splitlines() == ["1 of 3 cells done, 1 failed, 1 to do", "3 of 3 cells done"]
