"""`status` shows from the store what is done, what has failed and what runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from benchmark.results.files import file_lock
from benchmark.results.store import Failure, Plan, PlannedCell, Store
from benchmark.run.progress import PROGRESS, progress_file
from run_benchmark import main


def test_status_counts_each_state_and_names_what_failed_and_what_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "runs")
    line = ["status", "--results", str(store.root)]
    assert main(line) == 1
    assert "start a run with" in capsys.readouterr().err
    keys = ("done", "failed", "nobody")
    cells = [PlannedCell(key, "pmq", "linear", "chapman", 0.5, seed) for seed, key in enumerate(keys)]
    config = {"protocol": "paper", "data": {"labels": "single"}}
    facts = {"title": "Chapman", "recordings": 3, "patients": 2}
    plan = Plan("a1", config, {"pmq": "PMQ"}, {"chapman": facts}, {"name": "mimic-iv-ecg", **facts}, cells=cells)
    store.save_plan(plan)
    store.cells.mkdir()
    (store.cells / "done.json").touch()
    store.save_failure("failed", "it", Failure("ValueError: out of luck\nin many words"))
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "1 of 3 cells done, 1 failed, 1 to do\n" in text
    assert "failed: pmq linear chapman 0.5 seed 1: ValueError: out of luck\n" in text
    assert "nothing works on the rest; the command that began this grid" in text
    folder = store.pretrained / "key"
    with progress_file(folder, "pmq pretrain seed 42") as write, file_lock(store.lock):
        write(120, 600, "epoch 2/10 loss 1.2345")
        then = time.time() - 125
        os.utime(folder / PROGRESS, (then, then))
        assert main(line) == 0
    text = capsys.readouterr().out
    assert "pmq pretrain seed 42: 120 of 600 updates, epoch 2/10 loss 1.2345, 2 min ago\n" in text
    assert f":{os.getpid()} works on it\n" in text
