"""A process pool whose workers ignore Ctrl-C and exit with their parent.

A terminal sends Ctrl-C to all its processes; the parent alone handles it. Workers watch for a killed parent.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any


def open_pool(
    processes: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """A pool whose processes ignore Ctrl-C from their start; each calls `begin(*arguments)` before its tasks."""
    pool = ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_begin, initargs=(begin, arguments)
    )
    with _interrupts_ignored():
        for _ in range(processes):  # each first task starts a process, which inherits the ignored signal
            pool.submit(int)
    return pool


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
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
