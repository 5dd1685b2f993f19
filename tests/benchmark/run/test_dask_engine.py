"""Workers of a Dask scheduler that were started by hand: the same table, also where one is killed and one is closed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from benchmark.config.errors import ConfigError
from benchmark.results.store import Store
from benchmark.run import dask_engine
from benchmark.run.engine import open_engine
from tests.benchmark.run.grid_runs import HANGS, members, runs_in, scheduler, until

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
THERE = ("--engine", "scheduler.json", "--precision", "float32")


def test_a_killed_and_a_closed_worker_cost_nothing_and_a_wrong_one_is_refused(
    tmp_path: Path, expected: list[str]
) -> None:
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
        keys = Store(tmp_path / "runs").row_keys()
        assert len(keys) == 6
        wrong = worker("wrong", threads=2)
        until(lambda: "Registered to" in (tmp_path / "wrong.err").read_text())
        runs.start(*THERE, "--results", "other")
        assert runs.started[1].wait(HANGS) == 2
        assert "error: a worker has several threads" in runs.output(1, "err")
        assert runs.output(1, "err").endswith("start the workers with --nthreads 1\n")
        for process in (wrong, third, first):
            process.terminate()


def test_no_worker_and_no_scheduler_are_each_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_engine, "PATIENCE_SECONDS", 2.0)
    with pytest.raises(ConfigError, match=r"^--engine tcp://127\.0\.0\.1:1: no Dask scheduler answers there"):
        open_engine("tcp://127.0.0.1:1", None).__enter__()
    with runs_in(tmp_path) as runs, scheduler(runs):
        file = str(tmp_path / "scheduler.json")
        with pytest.raises(ConfigError, match="no worker for 2 s; start some: dask worker --scheduler-file"):
            open_engine(file, None).__enter__()
