"""Runs that are stopped and runs beside each other, as processes: nothing is lost, done twice or left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmark.machine.processes import ECHO_SECONDS
from benchmark.run.claims import CLAIMS
from benchmark.run.local import SAVING_SECONDS
from benchmark.training.checkpoint import CHECKPOINT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
methods: [random, moco, pmq]
data:
  datasets: [chapman]
  simulation: {patients: {mimic-iv-ecg: 6, chapman: 40}, recordings_per_patient: 2}
encoder: {hidden: 4, depth: 2, output: 8}
knobs: {moco: {queue_size: 16}, pmq: {queue_size: 16}}
pretrain: {epochs: 20, recipe: {batch_size: 8}}
finetune: {epochs: 1, batch_size: 64}
evaluate: [finetune, linear]
ratios: [0.5]
seeds: [41, 42]
gates: []
precision: float32
"""
TASKS = 4 + 12
"""Encoders: random twice, moco, pmq. Cells: three rows, two evaluations, two seeds."""
RUN = f"""
import runpy
import benchmark.screen
benchmark.screen.INNER_SECONDS = 0.0  # a line for each task, by which it is seen which runner did it
runpy.run_path({str(ROOT / "run_benchmark.py")!r}, run_name="__main__")
"""
ENDLESS = ["--methods", "random", "--evaluate", "finetune", "--set", "finetune.epochs=1000000"]
HANGS = 1200
"""Seconds after which a run is taken to hang; a busy machine needs minutes."""
ENDS = SAVING_SECONDS + 55
"""Seconds after which a stopped run is taken to hang. The bound on a stop itself, without what a busy machine adds, is
held in tests/benchmark/run/test_local.py."""
STOPPED = "what is finished is saved, and the same command goes on from there\n"


class Runners:
    """Runs of the small config in one folder, each with tables and a log of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "tiny.yaml").write_text(CONFIG)

    def start(self, *flags: str, jobs: int = 1) -> subprocess.Popen[bytes]:
        out = self.folder / f"out{len(self.started)}"
        command = ["--config", "tiny.yaml", "--device", "cpu", "--workers", "1", "--jobs-per-device", str(jobs)]
        with open(f"{out}.log", "wb") as log, open(f"{out}.err", "wb") as errors:
            self.started.append(
                subprocess.Popen(
                    [sys.executable, "-c", RUN, *command, "--out", str(out), *flags],
                    cwd=self.folder,
                    env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)},
                    stdout=log,
                    stderr=errors,
                    start_new_session=True,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # as a terminal has it
                )
            )
        return self.started[-1]

    def said(self, number: int, end: str = "log") -> str:
        return (self.folder / f"out{number}.{end}").read_text()

    def done(self) -> list[str]:
        """The names of the tasks that the runners say they did."""
        lines = [line for number in range(len(self.started)) for line in self.said(number).splitlines()]
        return [line.removeprefix("done").partition(" (")[0].strip() for line in lines if line.startswith("done ")]

    def table(self, number: int) -> bytes:
        return (self.folder / f"out{number}" / "results.md").read_bytes()

    def held(self) -> list[int]:
        """Processes that hold a claim in the store, one for each."""
        return [json.loads(path.read_bytes() or b"{}").get("pid") for path in (self.folder / "runs" / CLAIMS).glob("*")]

    def until(self, so: Callable[[], object]) -> None:
        patience = time.monotonic() + HANGS
        while not so():
            assert time.monotonic() < patience
            assert any(runner.poll() is None for runner in self.started), self.said(len(self.started) - 1, "err")
            time.sleep(0.02)


@pytest.fixture
def runners(tmp_path: Path) -> Iterator[Runners]:
    made = Runners(tmp_path)
    yield made
    for runner in made.started:
        if runner.poll() is None:
            os.killpg(runner.pid, signal.SIGKILL)
            runner.wait()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results.md of a single run that nothing disturbs."""
    alone = Runners(tmp_path_factory.mktemp("alone"))
    assert alone.start().wait(HANGS) == 0
    assert len(alone.done()) == TASKS
    return alone.table(0)


def in_training(runners: Runners) -> bool:
    """Whether a pretraining is under way."""
    return any((runners.folder / "runs").glob(f"pretrained/*/{CHECKPOINT}"))


def alive(group: int) -> bool:
    """Whether a process of a session runs."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, found = file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has just ended
        if int(found) == group and state != "Z":
            return True
    return False


@pytest.mark.parametrize(
    ("signals", "status"),
    [([signal.SIGINT, signal.SIGINT], 130), ([signal.SIGTERM], 143)],
    ids=["Ctrl-C twice", "SIGTERM"],
)
def test_a_stop_does_not_wait_for_cells(runners: Runners, signals: list[signal.Signals], status: int) -> None:
    runner = runners.start(*ENDLESS, jobs=2)
    cards = runners.folder / "runs" / "pretrained"
    runners.until(lambda: len(list(cards.glob("*/*.json"))) == len(runners.held()) == 2)
    time.sleep(5)  # for the processes to begin with their endless cells
    for number in signals:
        if runner.poll() is None:
            os.killpg(runner.pid, number)  # as a terminal does: to the parent and its workers
            time.sleep(ECHO_SECONDS + 0.1)
    assert runner.wait(ENDS) == status
    assert runners.said(0, "err") in {f"error: stopped; {STOPPED}", f"error: ended at once; what was {STOPPED[8:]}"}
    patience = time.monotonic() + ENDS
    while alive(runner.pid):  # a killed process takes a moment to go
        assert time.monotonic() < patience
        time.sleep(0.02)
    assert runners.held() == []
    assert not list((runners.folder / "runs" / "cells").glob("*"))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143)])
def test_a_stopped_pretraining_is_saved_and_goes_on_to_the_same_table(
    runners: Runners, expected: bytes, number: signal.Signals, status: int
) -> None:
    runner = runners.start(jobs=2)
    runners.until(lambda: in_training(runners))
    os.killpg(runner.pid, number)
    assert runner.wait(ENDS) == status
    assert runners.said(0, "err").startswith(
        "error: stopped; "
    )  # what was saved in time is named: engines/test_local.py
    assert runners.said(0, "err").endswith(STOPPED)
    assert in_training(runners)
    assert runners.start(jobs=2).wait(HANGS) == 0
    assert sorted(set(runners.done())) == sorted(runners.done())
    assert len(runners.done()) == TASKS
    assert runners.table(1) == expected


def test_three_runners_share_the_work_and_two_take_over_that_of_a_killed_one(runners: Runners, expected: bytes) -> None:
    three = [runners.start() for _ in range(3)]
    runners.until(lambda: in_training(runners))
    (checkpoint, *_) = (runners.folder / "runs").glob(f"pretrained/*/{CHECKPOINT}")
    claim = runners.folder / "runs" / CLAIMS / f"{checkpoint.parent.name}.json"
    (killed,) = [runner for runner in three if runner.pid == json.loads(claim.read_text())["pid"]]
    os.killpg(killed.pid, signal.SIGKILL)
    assert [runner.wait(HANGS) for runner in three if runner is not killed] == [0, 0]
    assert sorted(set(runners.done())) == sorted(runners.done())
    assert len(runners.done()) == TASKS
    assert runners.held() == []
    for number, runner in enumerate(three):
        if runner is not killed:
            assert runners.table(number) == expected
            assert "by other runners" in runners.said(number)
            assert runners.said(number, "err") == ""
