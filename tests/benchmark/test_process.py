"""Signals stop a command at once or after its task has saved; the processes of a pool do not outlive their parent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.process import (
    GRACE_SECONDS,
    Interrupted,
    OutputToReader,
    interrupts,
    outlive_readers,
    shared_map,
    stop,
)
from tests.benchmark.run.grid_runs import ROOT, is_running, until

MAP_AND_SLEEP = """
import time
from benchmark.process import shared_map
from tests.benchmark.test_process import slow_pid

if __name__ == "__main__":
    pids = shared_map(slow_pid, range(4), 2)
    print(next(pids), next(pids), flush=True)
    time.sleep(60)
"""
WITHOUT_GUARD = """
from benchmark.process import shared_map
from benchmark.run.engine import open_engine
from tests.benchmark.test_process import slow_pid

print("the script runs", flush=True)
pids = set(shared_map(slow_pid, range(4), 2))
with open_engine("local", 2) as engine:
    pids.add(engine.submit(slow_pid, 0).result())
print(len(pids))
"""


@pytest.fixture(autouse=True)
def as_a_terminal_has_it() -> Iterator[None]:
    """A shell's background jobs ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    stop.clear()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_at_once_with_the_status_of_the_shell(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, interrupts():
        signal.raise_signal(number)
    assert caught.value.status == status
    assert signal.getsignal(number) == before


def test_a_signal_is_raised_after_the_task_has_saved() -> None:
    steps = []

    def work() -> None:
        with interrupts(), interrupts(saving=True):
            for step in range(5):
                if step == 2:
                    signal.raise_signal(signal.SIGTERM)
                    signal.raise_signal(signal.SIGINT)  # an echo
                steps.append(step)
                if stop.is_set():
                    return

    with pytest.raises(Interrupted) as caught:
        work()
    assert (steps, caught.value.status) == ([0, 1, 2], 143)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_task_that_does_not_look_is_ended_after_the_grace() -> None:
    remaining: list[float] = []

    def work() -> None:
        with interrupts(saving=True):
            signal.raise_signal(signal.SIGINT)
            remaining.append(signal.getitimer(signal.ITIMER_REAL)[0])
            signal.setitimer(signal.ITIMER_REAL, 0.05)  # the test does not wait it out
            time.sleep(600)

    with pytest.raises(Interrupted) as caught:
        work()
    assert 0 < remaining[0] <= GRACE_SECONDS
    assert caught.value.status == 130


def slow_pid(number: int) -> int:
    """Work that every process of a pool has some of."""
    time.sleep(0.2)
    return os.getpid()


def test_a_script_without_a_guard_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "without_guard.py"
    script.write_text(WITHOUT_GUARD)
    shown = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (shown.stdout, shown.stderr) == ("the script runs\n3\n", "")


def test_shared_work_waits_for_who_takes_its_results() -> None:
    items = iter(range(20))
    results = shared_map(abs, items, 2)
    assert (next(results), next(items)) == (0, 4)  # two items for each of the processes
    assert list(results) == [1, 2, 3, *range(5, 20)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see which processes run")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "opens_a_pool.py"
    script.write_text(MAP_AND_SLEEP)
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert parent.stdout is not None
    workers = {int(number) for number in parent.stdout.readline().split()}
    assert workers
    parent.send_signal(how)
    parent.wait(10)
    parent.stdout.close()
    until(lambda: not any(map(is_running, workers)))


def test_output_whose_reader_has_gone_ends_without_an_error() -> None:
    reader, writer = os.pipe()
    with OutputToReader(writer, "w") as output:
        assert output.write(b"read") == 4
        assert os.read(reader, 4) == b"read"
        os.close(reader)
        assert [output.write(b"unread") for _ in range(2)] == [6, 6]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk without space")
def test_output_to_a_full_disk_is_one_error_that_says_so() -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, str(ROOT / "run_benchmark.py"), "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 2
    assert re.fullmatch("error: the output: No space left on device; free space .*\n", ended.stderr)


def test_a_closed_stream_takes_output_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it where a shell closed it
    outlive_readers()
    with sys.stdout as stream:
        assert stream.write("a line") == 6
