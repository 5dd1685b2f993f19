"""A process is told from those that have ended and from a later one with its pid; of other places nothing is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.machine import processes as process_module
from benchmark.machine.processes import Process, runs, this_process

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").is_symlink(), reason="needs /proc")


def test_this_process_runs_and_is_the_same_each_time() -> None:
    assert this_process() == this_process()
    assert this_process().pid == os.getpid()
    assert runs(this_process()) is True


def test_a_later_process_with_the_same_pid_is_another() -> None:
    assert runs(this_process()._replace(started="1")) is False


def test_an_ended_process_does_not_run_even_where_nobody_waited_for_it() -> None:
    source = "from benchmark.machine.processes import this_process; print(list(this_process()), flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        other = Process(*eval(child.stdout.readline()))
        assert runs(other) is True
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not waited for
        assert runs(other) is False
    assert runs(other) is False


@pytest.mark.parametrize("field", ["host", "boot", "namespace"])
def test_nothing_is_said_of_a_process_of_another_place(field: str) -> None:
    assert runs(this_process()._replace(**{field: "another"})) is None


def test_nothing_is_said_where_the_system_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = this_process()
    process_module._place.cache_clear()
    monkeypatch.setattr(process_module, "PROC", tmp_path)
    try:
        assert this_process() == (own.host, "", "", own.pid, "")
        assert runs(this_process()) is None
    finally:
        process_module._place.cache_clear()
