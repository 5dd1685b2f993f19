"""Identity of this process, and whether another process still runs."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """A process among all hosts and containers, now and after a restart of the host."""

    host: str
    boot: str
    """Boot id of the host; '' where the system has none."""
    namespace: str
    """Pid namespace, which differs between containers; '' where the system has none."""
    pid: int
    started: str
    """Start time in clock ticks since boot: a later process may have the same pid."""


def this_process() -> Process:
    """The calling process."""
    boot, namespace = _place()
    return Process(socket.gethostname(), boot, namespace, os.getpid(), (_state_and_start(os.getpid()) or ("", ""))[1])


def runs(process: Process) -> bool | None:
    """Whether a process runs; None if that cannot be seen from here, e.g. because it is of another host."""
    if not all(_place()) or process[:3] != (socket.gethostname(), *_place()):
        return None
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # of another user
    found = _state_and_start(process.pid)
    if found is None:
        return None
    state, started = found
    return state not in "ZX" and started == process.started


@lru_cache(maxsize=1)
def _place() -> tuple[str, str]:
    """Boot id and pid namespace of this process."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink(PROC / "self/ns/pid")
    except OSError:
        return "", ""


def _state_and_start(pid: int) -> tuple[str, str] | None:
    """State letter and start time of a process; None if they cannot be read."""
    try:
        after_name = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return after_name[0], after_name[19]
    except (OSError, IndexError):
        return None
