"""`list` names all there is, each with what it is; `status` shows from the store what is done, failed and runs."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from benchmark.config.load import config_names
from benchmark.data.datasets import DATASETS
from benchmark.results.files import file_lock
from benchmark.results.names import TASKS
from benchmark.results.store import Failure, Plan, PlannedCell, Store
from benchmark.run.progress import PROGRESS, progress_file
from methods import BEYOND, METHODS
from methods.encoders import ENCODERS
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


def test_list_names_all_there_is_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert {*METHODS, *ENCODERS, *DATASETS, *TASKS, *config_names(), "637,952", "439,040"} <= set(shown.split())
    parts = re.split(r"^(?=\w)", shown, flags=re.MULTILINE)[1:]
    lines = {part.split()[0]: part.splitlines()[1:] for part in parts}
    assert [line.split()[0] for line in lines["beyond"]] == list(BEYOND)
    assert [line.split()[0] for line in lines["encoders"]] == list(ENCODERS)
    assert all(re.search(r"[\d,]+ parameters, [\d,]+ M multiplications$", line) for line in lines["encoders"])
    texts = [line[18:] for line in (*lines["methods"], *lines["beyond"], *lines["encoders"])]
    assert "The untrained encoder." in texts, "a file with several methods describes each by its class"
    assert len(set(texts)) == len(texts)
