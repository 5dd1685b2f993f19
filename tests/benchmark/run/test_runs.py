"""Runs as a user starts them that are stopped, killed or lose a worker: nothing is lost, done twice or left behind.

Here, on workers of a Dask scheduler started by hand, and in jobs of a SLURM as docs/worker.sbatch starts them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.process import GRACE_SECONDS
from benchmark.run.engine import open_engine
from benchmark.training.checkpoint import CHECKPOINT
from tests.benchmark.run.cluster import slurm
from tests.benchmark.run.grid_runs import (
    ENDLESS,
    ENVIRONMENT,
    HANGS,
    ROOT,
    STOPPED,
    Runs,
    members,
    runs_in,
    scheduler,
    until,
    workers,
)

pytestmark = pytest.mark.slow
ENDS = GRACE_SECONDS + 55
"""Seconds after which a stopped run is taken to hang, on a busy machine."""
THERE = ("--engine", "scheduler.json", "--precision", "float32")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with runs_in(tmp_path) as made:
        yield made


def test_a_stop_does_not_wait_for_cells(runs: Runs) -> None:
    run = runs.start(*ENDLESS, "--jobs", "2")
    cards = runs.folder / "runs" / "pretrained"
    runs.until(lambda: len(list(cards.glob("*/*.json"))) == 2)
    time.sleep(3)  # for the processes to begin with their endless cells
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the parent and its workers
    assert run.wait(ENDS) == 130
    assert runs.output(0, "err") == STOPPED
    until(lambda: not members(run.pid))
    assert not list((runs.folder / "runs" / "cells").glob("*"))


def test_interrupted_pretrainings_go_on_to_the_same_table(runs: Runs, expected: list[str]) -> None:
    run = runs.start("--jobs", "2")
    runs.until(runs.in_training)
    os.killpg(run.pid, signal.SIGTERM)
    assert run.wait(ENDS) == 143
    assert runs.output(0, "err") == STOPPED
    until(lambda: not members(run.pid))
    assert list((runs.folder / "runs").glob(f"pretrained/*/{CHECKPOINT}"))
    assert not runs.in_training()

    run = runs.start("--jobs", "2")
    runs.until(lambda: runs.in_training() and len(workers(run.pid)) == 2)
    first, second = workers(run.pid)
    refused = runs.start()
    os.kill(first, signal.SIGKILL)
    assert refused.wait(ENDS) == 2
    assert f":{run.pid} works on runs (see `status`): wait for its end" in runs.output(2, "err")
    runs.finish(1)
    assert second not in members(run.pid)
    assert runs.output(1, "err") == ""
    assert runs.table(1) == expected


def test_a_lost_worker_costs_nothing(tmp_path: Path, expected: list[str]) -> None:
    pytest.importorskip("distributed")
    with runs_in(tmp_path) as runs, scheduler(runs) as worker:
        first, second = worker("first"), worker("second")
        runs.start(*THERE)
        runs.until(lambda: len(runs.in_training()) == 2)
        os.kill(members(first.pid)[-1], signal.SIGKILL)  # below its nanny, which starts another
        runs.until(lambda: len(runs.in_training()) == 2)
        second.terminate()
        assert second.wait(60) == 0
        third = worker("third")
        runs.finish(0)
        assert runs.table(0) == expected
        assert runs.output(0, "err") == ""
        keys = [file.stem for file in (tmp_path / "runs" / "cells").glob("*.npz")]
        assert len(keys) == 6
        wrong = worker("wrong", threads=2)
        until(lambda: "Registered to" in (tmp_path / "wrong.err").read_text())
        runs.start(*THERE, "--results", "other")
        assert runs.started[1].wait(HANGS) == 2
        assert "error: a worker has several threads" in runs.output(1, "err")
        assert runs.output(1, "err").endswith("start the workers with --nthreads 1\n")
        for process in (wrong, third, first):
            process.terminate()


def test_a_scheduler_without_a_worker_is_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("benchmark.run.dask_engine"), "PATIENCE_SECONDS", 2.0)
    with runs_in(tmp_path) as runs, scheduler(runs):
        file = str(tmp_path / "scheduler.json")
        with pytest.raises(ConfigError, match="no worker for 2 s; start some: dask worker --scheduler-file"):
            open_engine(file, None).__enter__()


def test_workers_that_meet_their_time_limit_save(tmp_path: Path, expected: list[str]) -> None:
    pytest.importorskip("distributed")
    with slurm(tmp_path / "slurm"), runs_in(tmp_path) as runs, scheduler(runs):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        settings = {"SCHEDULER": "scheduler.json", "LIFETIME": "20s", "PATH": path}
        command = ["sbatch", "--array=0-39%1", "--time=5", str(ROOT / "docs" / "worker.sbatch")]
        subprocess.run(command, cwd=tmp_path, env=os.environ | ENVIRONMENT | settings, check=True, capture_output=True)
        begin = time.monotonic()
        runs.start(*THERE)
        runs.finish(0)
        assert runs.table(0) == expected
        assert runs.output(0, "err") == ""
        logs = [file.read_text() for file in tmp_path.glob("slurm-*.out")]
        if time.monotonic() - begin < 60 and not any("worker-lifetime-reached" in log for log in logs):
            pytest.skip("this machine was done before a worker met its time limit")
        assert any("worker-lifetime-reached" in log for log in logs), logs
