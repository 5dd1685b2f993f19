"""Processes of this machine: how they are asked to stop, and pools of workers.

Ctrl-C and SIGTERM end a command; a task in its process saves first. The workers of a pool ignore Ctrl-C, which a
terminal sends to all processes, save on SIGTERM and end with their parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from io import BufferedWriter, FileIO, TextIOWrapper
from multiprocessing import get_context, parent_process, resource_tracker
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GRACE_SECONDS = 6  # most that running tasks have to save
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SHARED_MEMORY = "/dev/shm"

stop = threading.Event()
"""Set where this process is asked to save and end: by a signal, by a worker that closes, or by the driver."""


class Stopped(BaseException):
    """The task was asked to stop, and has saved."""


class EngineLost(Exception):
    """The scheduler of the workers does not answer any more; the message is one line, with what to do."""


class Interrupted(KeyboardInterrupt):
    """A signal ends the command, with the exit status that a shell gives it."""

    def __init__(self, number: int) -> None:
        self.status = 128 + number


@contextmanager
def interrupts(*, saving: bool = False) -> Iterator[None]:
    """Raise `Interrupted` at the first SIGINT or SIGTERM within.

    saving: it sets `stop` instead, and is raised at the end or after `GRACE_SECONDS`. On Windows, where nothing runs
    that could save, Ctrl-C is Python's; in another thread than the main one, as some notebooks have, it is not heard.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "SIGALRM"):
        yield
        return
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if received and number != signal.SIGALRM:
            return  # a program around this one may pass on what the terminal has sent already
        received.append(number)
        if number == signal.SIGALRM or not saving:
            raise Interrupted(received[0])
        stop.set()
        signal.alarm(GRACE_SECONDS)

    before = {number: signal.signal(number, handle) for number in (*SIGNALS, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise Interrupted(received[0])


Item = TypeVar("Item")
Result = TypeVar("Result")


def shared_map(work: Callable[[Item], Result], items: Iterable[Item], processes: int) -> Generator[Result, None, None]:
    """Map `work` over items, in order, shared by processes; one process or none is this one.

    No more results wait to be taken than keep the processes busy, however slowly they are taken.
    """
    if processes <= 1:
        yield from map(work, items)
        return
    context = get_context("forkserver")  # imports once for the pools of all datasets
    context.set_forkserver_preload(["scipy.signal"])
    with semaphores():
        executor = ProcessPoolExecutor(processes, context, begin_worker)
    futures: deque[Future[Result]] = deque()
    with executor as pool:
        for item in items:
            with starting_workers():
                futures.append(pool.submit(work, item))
            if len(futures) == 2 * processes:
                yield futures.popleft().result()
        for future in futures:
            yield future.result()


@contextmanager
def semaphores() -> Iterator[None]:
    """Let an OSError of the semaphores that processes share name the folder in which they lie."""
    try:
        yield
    except BlockingIOError:
        raise  # no further process may start
    except OSError as error:
        error.filename = error.filename or SHARED_MEMORY
        raise


class OutputToReader(FileIO):
    """A standard stream whose output ends with its reader (`| head`), so that the work goes on without a word.

    Output to a disk that is full ends too, and raises OSError once.
    """

    def write(self, data: ReadableBuffer) -> int:
        """Write to the reader; nowhere from the time that it has gone. Raises OSError the first time it cannot."""
        try:
            return super().write(data)
        except OSError as error:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
            if not isinstance(error, BrokenPipeError):
                error.filename = "the output"
                raise
            return super().write(data)


def outlive_readers() -> None:
    """Let this process go on where a standard stream is closed or its reader ends; those that a test took stay."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115, a shell may close one
        setattr(sys, name, stream)
        if isinstance(stream, TextIOWrapper) and stream is getattr(sys, f"__{name}__"):
            file = OutputToReader(stream.fileno(), "w", closefd=False)
            setattr(sys, name, TextIOWrapper(BufferedWriter(file), stream.encoding, stream.errors, line_buffering=True))


def begin_worker() -> None:
    """Let a worker save on SIGTERM, and end with its parent."""
    outlive_readers()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    threading.Thread(target=end_with_parent, daemon=True).start()
    keep_freed_memory()


def end_with_parent() -> None:
    """Wait for the end of the parent process, and end this one."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def starting_workers() -> Iterator[None]:
    """Let processes that are started within never hear Ctrl-C, and import nothing of the script that runs here.

    This process hears afterwards what was sent meanwhile. Workers import the script of their parent by default, and one
    without `if __name__ == "__main__":` would run again in each.
    """
    resource_tracker.ensure_running()  # started later, it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # multiprocessing looks here for the file to import
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def keep_freed_memory() -> None:
    """Let glibc reuse freed memory, which it returns by default: a fifth of a training step; no result moves."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None:
        for threshold in (-3, -1):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            mallopt(threshold, 2**31 - 1)
