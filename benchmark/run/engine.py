"""The engines that run tasks: this process, processes of this machine, or the workers of a Dask scheduler.

An engine is a pool of workers that run one task at a time each, behind the interface of `concurrent.futures`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.queues import SimpleQueue
from typing import TYPE_CHECKING, Any

from benchmark.process import GRACE_SECONDS, begin_worker, interrupts, semaphores, starting_workers

if TYPE_CHECKING:
    from benchmark.run.dask_engine import Dask

HERE = "local"  # the engine of this machine, as `--engine` names it


class Inline:
    """This process, one task after the other. A task that is stopped by a signal has saved before it is raised."""

    lost: tuple[type[Exception], ...] = ()  # what the future of a task raises whose worker was killed
    attempts = 1  # how often a task is handed over that loses its worker; 1 where the engine itself tries again
    remark = ""  # what is shown of the workers beside the progress of the tasks

    def width(self) -> int:
        """Count how many tasks may be handed over at a time, so that none waits behind a long one."""
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run the function now."""
        future: Future[Any] = Future()
        with interrupts(saving=True):
            future.set_result(function(*arguments))
        return future

    def ask_to_stop(self) -> None:
        """Let running tasks save and end: here none runs beside the caller."""


class Pool:
    """Processes of this machine. A killed one ends all, and the next task opens others."""

    lost = (BrokenProcessPool,)
    attempts = 2
    remark = ""

    def __init__(self, workers: int, devices: Sequence[str]) -> None:
        """Open the pool. devices: CUDA_VISIBLE_DEVICES of the workers, in turn; '' for what it is here."""
        self.workers, self.devices = workers, devices
        self.open()

    def open(self) -> None:
        """Open an executor, whose workers take a device each."""
        context = get_context("spawn")
        with semaphores():
            devices: SimpleQueue[str] = context.SimpleQueue()
            self.executor = ProcessPoolExecutor(self.workers, context, begin_task_worker, (devices,))
        for number in range(self.workers):
            devices.put(self.devices[number % len(self.devices)])

    def width(self) -> int:
        """Count the processes."""
        return self.workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run a function in one of the processes, in new ones if one was killed."""
        with starting_workers():
            try:
                return self.executor.submit(function, *arguments)
            except BrokenProcessPool:
                self.end(GRACE_SECONDS)
                self.open()
                return self.executor.submit(function, *arguments)

    def ask_to_stop(self) -> None:
        """Send SIGTERM to the processes, on which a pretraining saves."""
        for process in active_children():
            process.terminate()

    def end(self, patience: float) -> None:
        """Wait up to so many seconds for the end of the processes, and kill the others."""
        self.executor.shutdown(wait=False)
        until = time.monotonic() + patience
        for process in active_children():
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
            process.join(1.0)  # until then it may still write a file
        self.executor.shutdown()


def begin_task_worker(devices: SimpleQueue[str]) -> None:
    """Begin a worker, with the next of the devices as its only one."""
    begin_worker()
    if device := devices.get():
        os.environ["CUDA_VISIBLE_DEVICES"] = device  # before CUDA is looked for


@contextmanager
def open_engine(name: str, jobs: int | None, devices: Sequence[str] = ()) -> Iterator[Inline | Pool | Dask]:
    """Open 'local', or the address or the scheduler file of a Dask scheduler, for the time of a context.

    jobs: tasks at a time; None: one a worker. Raises ConfigError for workers that are not there or cannot be used.
    """
    if name != HERE:
        from benchmark.run.dask_engine import open_dask  # here, because it is an extra

        with open_dask(name, jobs) as engine:
            yield engine
    elif jobs in (1, None) and not devices:
        yield Inline()
    else:
        pool = Pool(jobs or len(devices), devices or [""])
        try:
            yield pool
            pool.executor.shutdown()
        except BaseException:
            pool.end(0)  # at once, since what could be saved is
            raise
