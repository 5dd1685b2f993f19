"""The processes of a pool do not outlive the process that opened it, even where that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmark.machine import workers

ROOT = Path(__file__).resolve().parents[3]
OPEN_AND_SLEEP = """
import os, time
from benchmark.machine.workers import open_pool

if __name__ == "__main__":
    pool = open_pool(2)
    print(*{future.result() for future in [pool.submit(os.getpid) for _ in range(50)]}, flush=True)
    time.sleep(60)
"""
STOP_AND_END = """
import os, threading, time
from multiprocessing import resource_tracker
from benchmark.machine.stop import end
from benchmark.machine.workers import closing_pool, open_pool

known = resource_tracker.unregister

def slowly(*resource):
    if threading.current_thread() is not threading.main_thread():
        time.sleep(1)
    known(*resource)

if __name__ == "__main__":
    resource_tracker.unregister = slowly
    try:
        pool = open_pool(2)
        with closing_pool(pool):
            pool.submit(time.sleep, 60)
            pool.submit(os.getpid).result()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        del pool
        time.sleep(0.3)
        end(143)
"""


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see which processes run")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "opens_a_pool.py"
    script.write_text(OPEN_AND_SLEEP)
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    workers = [int(number) for number in parent.stdout.readline().split()]
    assert workers
    assert all(map(alive, workers))
    parent.send_signal(how)
    parent.wait(10)
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, workers))


@pytest.mark.slow
def test_a_stopped_pool_leaves_no_semaphore_to_warn_about(tmp_path: Path) -> None:
    script = tmp_path / "stops.py"
    script.write_text(STOP_AND_END)
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert (ended.returncode, ended.stderr) == (143, "")


@dataclass
class Deaf:
    """A process that never ends, on a clock that only waiting moves."""

    clock: list[float]
    waited: list[float] = field(default_factory=list)

    def terminate(self) -> None: ...

    def join(self, timeout: float) -> None:
        self.waited.append(timeout)
        self.clock[0] += timeout


@dataclass
class Pool:
    """What is looked at of a pool."""

    _processes: dict[int, Deaf]


def test_all_processes_together_are_waited_for_as_long_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    deaf = [Deaf(clock) for _ in range(4)]
    pools = [Pool(dict(enumerate(half))) for half in (deaf[:2], deaf[2:])]
    workers.terminate(cast(list[ProcessPoolExecutor], pools), 4.5)
    assert [own.waited for own in deaf] == [[4.5], [0.0], [0.0], [0.0]]
