"""Runs that are stopped, killed or lose a worker: nothing is lost, done twice or left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.machine.process import GRACE_SECONDS
from benchmark.training.checkpoint import CHECKPOINT
from tests.benchmark.run.grid_runs import ENDLESS, STOPPED, Runs, members, runs_in, until, workers

pytestmark = pytest.mark.slow
ENDS = GRACE_SECONDS + 55
"""Seconds after which a stopped run is taken to hang, on a busy machine."""


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


def test_stopped_and_killed_pretrainings_go_on_to_the_same_table(runs: Runs, expected: list[str]) -> None:
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
