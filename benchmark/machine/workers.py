"""A process pool whose workers ignore Ctrl-C and exit with their parent.

A terminal sends Ctrl-C to all its processes; the parent alone handles it. Workers watch for a killed parent, and are
killed where the parent stops.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from typing import Any, TypeVar

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
