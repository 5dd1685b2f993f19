"""A pool of processes that Ctrl-C does not reach: every process of a terminal gets it, and the parent alone acts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any


def open_pool(
    processes: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """A pool whose processes ignore Ctrl-C from their first moment; each calls `begin(*arguments)` before its work."""
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=begin, initargs=arguments)
    with _interrupts_ignored():
        for _ in range(processes):  # each first task starts a process, and it inherits what is ignored
            pool.submit(int)
    return pool


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
