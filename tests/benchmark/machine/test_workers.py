"""The processes of a pool do not outlive the process that opened it, even where that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OPEN_AND_SLEEP = """
import os, time
from benchmark.machine.workers import open_pool

if __name__ == "__main__":
    pool = open_pool(2)
    print(*{future.result() for future in [pool.submit(os.getpid) for _ in range(50)]}, flush=True)
    time.sleep(60)
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
