"""What is done, runs, waits, has failed and is left is told apart, from the store alone."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest

from benchmark.cli import look as status_module
from benchmark.cli.look import look, show
from benchmark.extras import slurm
from benchmark.extras.slurm import JOBS, Queued, record
from benchmark.machine.processes import this_process
from benchmark.results.store import NoResults, Plan, PlannedCell, Store
from benchmark.run.claims import CLAIMS, Claims
from benchmark.screen import open_console
from run_benchmark import main

KEYS = ("done", "runs", "waits", "failed", "nobody")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Five cells of PMQ, one of each state."""
    own = Store(tmp_path / "runs")
    cells = [PlannedCell(key, "pmq", "linear", "chapman", 0.5, seed) for seed, key in enumerate(KEYS)]
    config = {"protocol": "paper", "data": {"labels": "single"}}
    facts = {"title": "Chapman", "recordings": 3, "patients": 2}
    own.save_plan(
        Plan("a1", config, {"pmq": "PMQ"}, {"chapman": facts}, {"name": "mimic-iv-ecg", **facts}, cells=cells)
    )
    own.cells.mkdir()
    (own.cells / "done.json").touch()
    own.save_failure("failed", "it", "ValueError: out of luck\nin many words")
    record(own.root / JOBS / "bench", "12_0", ["waits", "runs"], "some cells")
    record(own.root / JOBS / "bench", "13", ["pretraining"], "a pretraining")
    states = {"12_0": Queued("PENDING", "Resources", ""), "13": Queued("RUNNING", "None", "node7")}
    monkeypatch.setattr(slurm, "queued", lambda jobs: {job: states[job] for job in jobs if job in states})
    return own


@pytest.fixture
def claims(store: Store) -> Claims:
    return Claims(store.root / CLAIMS, process=this_process()._replace(host="there", pid=7))


def shown(store: Store) -> str:
    file = io.StringIO()
    show(open_console(file), look(store))
    return file.getvalue()


def test_each_state_is_counted_and_named(store: Store, claims: Claims) -> None:
    assert claims.take("runs")
    state = look(store)
    assert state.total == {"done": 1, "running": 1, "queued": 1, "failed": 1, "to do": 1}
    assert state.left == 3
    text = shown(store)
    assert "1 of 5 cells done, 1 running, 1 queued, 1 failed, 1 to do\n" in text
    assert "job 12_0: pending (Resources), 2 cells\n" in text
    assert "job 13: running (node7), a pretraining\n" in text
    assert "running: pmq linear chapman 0.5 seed 1 (there:7)\n" in text
    assert "failed: pmq linear chapman 0.5 seed 3: ValueError: out of luck\n" in text


def test_a_claim_of_a_process_that_has_ended_and_a_job_that_left_the_queue_count_for_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Claims(store.root / CLAIMS, process=this_process()._replace(started="of a process before"))
    assert ended.take("runs")
    monkeypatch.setattr(slurm, "queued", lambda jobs: {})
    assert look(store).total == {"done": 1, "failed": 1, "to do": 3}
    assert "the command that began this grid tries again what has failed" in shown(store)


def set_back(file: Path, seconds: float) -> None:
    """Make a file older."""
    then = time.time() - seconds
    os.utime(file, (then, then))


def test_a_stored_failure_is_not_hidden_by_an_older_claim_or_job(store: Store, claims: Claims) -> None:
    assert claims.take("failed")
    set_back(store.failure_file("failed"), 20.0)
    assert look(store).total["running"] == 1, "it is tried again"
    set_back(store.root / CLAIMS / "failed.json", 40.0)
    assert look(store).total == {"done": 1, "queued": 2, "failed": 1, "to do": 1}
    store.save_failure("waits", "it", "ValueError: out of luck")
    assert look(store).total == {"done": 1, "queued": 1, "failed": 2, "to do": 1}


def test_a_claim_of_another_host_that_is_no_longer_renewed_is_not_running(store: Store, claims: Claims) -> None:
    assert claims.take("failed")
    assert claims.take("nobody")
    set_back(store.failure_file("failed"), 1000.0)
    for key in ("failed", "nobody"):
        set_back(store.root / CLAIMS / f"{key}.json", 500.0)
    state = look(store)
    assert state.total == {"done": 1, "queued": 2, "failed": 1, "to do": 1}
    assert state.running == {}
    assert "held: pmq linear chapman 0.5 seed 4 by there:7, not renewed for 500 s: it has most likely ended\n" in shown(
        store
    )


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
    assert capsys.readouterr().out.splitlines() == [
        "1 of 5 cells done, 2 queued, 1 failed, 1 to do",
        "5 of 5 cells done",
    ]
