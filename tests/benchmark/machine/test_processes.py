"""The processes of a pool do not outlive the process that opened it, even where that is killed.

The peak of what a process holds, and what it can still take.
"""

from __future__ import annotations

import os
import resource
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
import torch

from benchmark.machine import processes
from benchmark.machine.processes import begin_peak_memory, free_bytes, peak_memory_gib

ROOT = Path(__file__).resolve().parents[3]
OPEN_AND_SLEEP = """
import os, time
from benchmark.machine.processes import open_pool

if __name__ == "__main__":
    pool = open_pool(2)
    print(*{future.result() for future in [pool.submit(os.getpid) for _ in range(50)]}, flush=True)
    time.sleep(60)
"""
STOP_AND_END = """
import os, threading, time
from multiprocessing import resource_tracker
from benchmark.machine.processes import end
from benchmark.machine.processes import closing_pool, open_pool

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
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    deaf = [Deaf(clock) for _ in range(4)]
    pools = [Pool(dict(enumerate(half))) for half in (deaf[:2], deaf[2:])]
    processes.terminate(cast(list[ProcessPoolExecutor], pools), 4.5)
    assert [own.waited for own in deaf] == [[4.5], [0.0], [0.0], [0.0]]


@pytest.mark.skipif(not processes.PEAK_RESET.is_file(), reason="the system cannot begin a peak anew")
def test_a_peak_that_is_begun_anew_forgets_what_was_freed() -> None:
    cpu = torch.device("cpu")
    begin_peak_memory(cpu)
    held = torch.ones(2**27)  # 0.5 GiB
    with_it = peak_memory_gib(cpu)
    del held
    begin_peak_memory(cpu)
    without = peak_memory_gib(cpu)
    assert without < with_it - 0.3
    held = torch.ones(2**27)
    assert peak_memory_gib(cpu) > without + 0.3
    del held


def test_what_is_free_is_the_least_of_host_process_and_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host, process, groups, limits = tmp_path / "meminfo", tmp_path / "status", tmp_path / "cgroup", {}
    host.write_text("MemTotal: 64 kB\nMemAvailable:    50 kB\nHugePages_Total:  0\n")
    process.write_text("Name: python\nVmSize:  30 kB\nVmData:  20 kB\n")
    for name, value in {"MEMORY": host, "PROCESS_STATUS": process, "CGROUP": groups}.items():
        monkeypatch.setattr(processes, name, value)
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits.get(kind, unlimited))
    cpu = torch.device("cpu")
    assert free_bytes(cpu) == 50 * 1024
    limits[resource.RLIMIT_DATA] = (65 * 1024, 0)
    assert free_bytes(cpu) == 45 * 1024
    limits[resource.RLIMIT_AS] = (60 * 1024, 0)
    assert free_bytes(cpu) == 30 * 1024
    groups.mkdir()
    files = {
        "memory.max": "max",
        "memory.current": "9000",
        "memory.stat": "anon 5\ninactive_file 3000\nactive_file 500",
    }
    for name, text in files.items():
        (groups / name).write_text(text)
    assert free_bytes(cpu) == 30 * 1024
    (groups / "memory.max").write_text("20000")
    assert free_bytes(cpu) == 20000 - 9000 + 3500
    (groups / "memory.current").write_text("90000")
    assert free_bytes(cpu) == 0
