"""Processes of this machine: the signals that stop them, their memory, and pools of workers.

Ctrl-C and SIGTERM: a first one asks the process to stop, a second one stops it at once.

The first raises `Stopped` in the main thread, within `postponed` only after a step, so that the step can be saved.

A process pool whose workers ignore Ctrl-C and exit with their parent.

A terminal sends Ctrl-C to all its processes; the parent alone handles it. Workers watch for a killed parent, and are
killed where the parent stops.

Memory of this process: reuse of freed tensors, peak use, and what is free.

By default glibc maps each large tensor anew and the kernel zeroes its pages: a fifth of a training step on a CPU. No
result depends on this.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process, resource_tracker
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    import torch

GRACE_SECONDS = 4.0
"""Most that a stop is postponed, where nothing else is said."""
ECHO_SECONDS = 0.5
"""Least between two signals of a user: a program around this one may pass on what the terminal has sent already."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = 128
"""An exit status above it says by which signal a process was stopped."""


class Stopped(KeyboardInterrupt):
    """The process was asked to stop."""

    def __init__(self, number: int, saved: str = "") -> None:
        self.status = STOPPED + number
        self.saved = saved
        """What was saved of the running task; '' for nothing."""


@dataclass
class _Asked:
    """State of this process; handlers of signals have no other place for it."""

    number: int = 0
    at: float = 0.0
    postponed: bool = False


_asked = _Asked()


@contextmanager
def stops_on_signals(
    last: Callable[[], None], signals: Sequence[signal.Signals] = SIGNALS, grace: float = GRACE_SECONDS
) -> Iterator[None]:
    """Within, the signals (SIGINT and SIGTERM) raise `Stopped` in the main thread, postponed by at most `grace`.

    One that comes while the process is stopping calls `last` and ends it. A signal that is ignored stays ignored. In
    another thread than the main one, signals are left alone.
    """

    def hear(number: int, frame: FrameType | None) -> None:
        if not _asked.number:
            _asked.number, _asked.at = number, time.monotonic()
            if not _asked.postponed:
                raise Stopped(number)
            signal.setitimer(signal.ITIMER_REAL, grace)
        elif time.monotonic() - _asked.at < ECHO_SECONDS:
            return
        elif _asked.postponed:
            _asked.postponed = False
            raise Stopped(number)
        else:
            last()
            os._exit(STOPPED + number)

    def run_out(number: int, frame: FrameType | None) -> None:
        raise Stopped(_asked.number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: hear for number in signals if signal.getsignal(number) != signal.SIG_IGN}
    before = {number: signal.signal(number, own) for number, own in {**handlers, signal.SIGALRM: run_out}.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _asked.number = 0


@contextmanager
def postponed() -> Iterator[Callable[[], bool]]:
    """Within, a stop waits up to `GRACE_SECONDS` for the body, which asks for it by the yielded function.

    Raises Stopped at the end of the body if a stop was asked for.
    """
    _asked.postponed = True
    try:
        yield lambda: _asked.number > 0
    finally:
        _asked.postponed = False
        if _asked.number:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if _asked.number:
        raise Stopped(_asked.number)


def stopped(saved: str) -> Stopped:
    """The exception to raise where a stop was asked for; `saved` says what was saved of the running task."""
    return Stopped(_asked.number, saved)


def end(status: int) -> NoReturn:
    """End a process that was stopped: deaf to further signals, and without the second that the interpreter takes."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


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


Task = TypeVar("Task")
Result = TypeVar("Result")
PATIENCE = 2.0
"""Seconds to wait for a killed process."""


def shared_map(
    work: Callable[[Task], Result],
    tasks: Iterable[Task],
    processes: int,
    begin: Callable[..., None] | None = None,
) -> Generator[Result, None, None]:
    """`work` of each task, in order, shared by processes; one process or none is this one.

    Each process calls `begin` first. A generator that is closed before its end kills them.
    """
    if processes <= 1:
        yield from map(work, tasks)
        return
    pool = open_pool(processes, begin)
    with closing_pool(pool):
        yield from pool.map(work, tasks)


def open_pool(
    processes: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """A pool whose processes ignore Ctrl-C from their start; each calls `begin(*arguments)` before its tasks."""
    pool = ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_begin, initargs=(begin, arguments)
    )
    with _interrupts_blocked():
        for _ in range(processes):  # each first task starts a process, which inherits the blocked signal
            pool.submit(int)
    return pool


@contextmanager
def closing_pool(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Wait for the pool's tasks at the end of the context; leaving it by an exception kills its processes instead."""
    try:
        yield
    except BaseException:
        processes, thread = list((pool._processes or {}).values()), pool._executor_manager_thread
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join(PATIENCE)  # until then it may still write a file
        if isinstance(thread, threading.Thread):
            thread.join(PATIENCE)  # a process that ends while this frees semaphores is told of a missing one
        raise
    pool.shutdown()


def terminate(pools: Iterable[ProcessPoolExecutor], patience: float) -> None:
    """Send SIGTERM to the processes of pools, and wait up to `patience` seconds for their end."""
    processes = [process for pool in pools for process in (pool._processes or {}).values()]
    for process in processes:
        process.terminate()
    until = time.monotonic() + patience
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes started within never hear Ctrl-C; this one hears afterwards what was sent meanwhile."""
    resource_tracker.ensure_running()  # started later, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


PROCESS_STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Linux files that report a process's peak resident memory (VmHWM) and reset it."""


def begin_peak_memory(device: torch.device) -> None:
    """Reset the peak that `peak_memory_gib` returns; on CPUs only where the system allows it (Linux)."""
    if device.type == "cuda":
        import torch  # here, because it loads slowly and verbs that need no torch import this module

        torch.cuda.reset_peak_memory_stats(device)
    elif PEAK_RESET.is_file():
        give_back_freed_memory()
        with suppress(OSError):  # a container may forbid it; the peak is then that of the whole process
            PEAK_RESET.write_text("5")


def peak_memory_gib(device: torch.device) -> float:
    """Peak memory in GiB: allocated on a GPU, else resident in this process."""
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_allocated(device) / 2**30
    if PROCESS_STATUS.is_file():
        # Not getrusage: its peak is inherited from the parent process.
        lines = PROCESS_STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
    import resource

    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (2**30 if os.uname().sysname == "Darwin" else 2**20)


MEMORY, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
"""Linux: memory of the host, and limits of the process's group."""
LIMITS = (("", "memory.max", "memory.current"), ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
"""Folder, limit and use of a group, by version of cgroups; those of a container's own group lie at the top."""
FILE_PAGES = ("inactive_file", "active_file")
"""Of a group's use: copies of files, which the system drops when memory is asked for."""


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken: of a GPU, else of the host within the limits of its group and of this process.

    A large number where the system does not tell.
    """
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    import resource

    free = [2**60]
    if MEMORY.is_file():
        free += [1024 * kib for name, kib in _kibibytes(MEMORY) if name == "MemAvailable"]
    used = dict(_kibibytes(PROCESS_STATUS)) if PROCESS_STATUS.is_file() else {}
    for limit, own in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and own in used:
            free.append(most - 1024 * used[own])
    for folder, most_file, used_file in LIMITS:
        with suppress(OSError, ValueError):  # no such version, or no limit ('max')
            group = CGROUP / folder
            pages = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            cached = sum(int(pages.get(name, 0)) for name in FILE_PAGES)
            free.append(int((group / most_file).read_text()) - int((group / used_file).read_text()) + cached)
    return max(0, min(free))


def _kibibytes(file: Path) -> list[tuple[str, int]]:
    """The 'Name: 123 kB' lines of a file."""
    lines = (line.split() for line in file.read_text().splitlines())
    return [(words[0].rstrip(":"), int(words[1])) for words in lines if words[-1:] == ["kB"]]


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MOST = 2**31 - 1


def keep_freed_memory() -> None:
    """Raise glibc's thresholds for mapping and trimming; no effect with another C library."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MOST)
        mallopt(M_TRIM_THRESHOLD, MOST)


def give_back_freed_memory() -> None:
    """Return freed memory to the system, so that later use can be measured; glibc only."""
    if not sys.platform.startswith("linux"):
        return
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
