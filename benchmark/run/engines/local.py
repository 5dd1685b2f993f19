"""Run tasks on this machine, in this process or in a pool of processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from typing import Any, Generic, TypeVar

import torch
from threadpoolctl import threadpool_limits

from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.stop import GRACE_SECONDS, STOPPED, Stopped, stops_on_signals
from benchmark.machine.workers import closing_pool, open_pool, terminate

USE_FEWER = "if memory ran out, use fewer jobs (--jobs-per-device)"
SIGNAL_SECONDS = 0.5
"""Wait after a process was killed: a signal that was sent to all processes of a group stops this one too."""
SAVING_SECONDS = GRACE_SECONDS + 0.5
"""Most that a stop waits for the running tasks."""
LISTEN_SECONDS = 0.25
"""Between two looks at what running tasks tell."""
Task = TypeVar("Task")
Result = TypeVar("Result")
Tell = Callable[[Any], None]
"""Tells the caller of a running task's progress; what is told must be picklable."""


@dataclass(frozen=True)
class Ended(Generic[Task, Result]):
    """A finished task with its result or its error."""

    task: Task
    result: Result | None
    error: Exception | None


@dataclass(frozen=True)
class Engine(Generic[Task, Result]):
    """How tasks are run, and who hears of it."""

    function: Callable[[Task, Tell], Result]
    take: Callable[[], Task | None]
    """The next task that can begin; None if there is none, or none before a running one has ended."""
    threads: Callable[[Task], int]
    """Of a task's process while it runs."""
    on_start: Callable[[Task], None]
    on_told: Tell


def run_tasks(engine: Engine[Task, Result], jobs: int) -> Generator[Ended[Task, Result], None, None]:
    """Run every task that `take` gives and yield it as it ends; an exception in one does not stop the others.

    Up to `jobs` processes run tasks concurrently; a single job runs in this process. With several, function, tasks and
    results must be picklable. `take` is called when a task can begin, after the ends before were consumed. A stop asks
    the running tasks to save and waits for them (`benchmark.machine.stop`); any other exception in the caller kills
    their processes.
    """
    if jobs <= 1:
        yield from _one_by_one(engine)
    else:
        yield from _side_by_side(engine, jobs)


def _one_by_one(engine: Engine[Task, Result]) -> Iterator[Ended[Task, Result]]:
    before = torch.get_num_threads()
    try:
        while (task := engine.take()) is not None:
            engine.on_start(task)
            torch.set_num_threads(engine.threads(task))
            with threadpool_limits(engine.threads(task)):
                ended = _attempt(engine, task)
            yield ended
    finally:
        torch.set_num_threads(before)


def _attempt(engine: Engine[Task, Result], task: Task) -> Ended[Task, Result]:
    try:
        return Ended(task, engine.function(task, engine.on_told), None)
    except Exception as error:
        return Ended(task, None, error)


def _side_by_side(engine: Engine[Task, Result], jobs: int) -> Iterator[Ended[Task, Result]]:
    """Open pools until no task is left; if a pool takes no task, the first that waits fails."""
    waiting = engine.take()
    while waiting is not None:
        taken, waiting = yield from _until_broken(engine, waiting, jobs)
        if not taken and waiting is not None:
            yield Ended(waiting, None, RuntimeError(f"the processes were killed before it began: {USE_FEWER}"))
            waiting = None
        if waiting is None:
            waiting = engine.take()


def _until_broken(
    engine: Engine[Task, Result], waiting: Task | None, jobs: int
) -> Generator[Ended[Task, Result], None, tuple[int, Task | None]]:
    """Run `waiting`, then what `take` gives, in one pool until none is left or a process is killed.

    Returns how many tasks the pool took, and the one whose submission failed. No more tasks are submitted than there
    are processes, so `on_start` is exact. A killed process breaks the pool and fails its running tasks.
    """
    told: SimpleQueue[Any] = get_context("spawn").SimpleQueue()
    try:
        pool = open_pool(jobs, _begin_worker, (told,))
    except BrokenProcessPool:
        return 0, waiting
    running: dict[Future[Result], Task] = {}
    taken, broken = 0, False
    with closing_pool(pool):
        try:
            while True:
                while len(running) < jobs and not broken:
                    waiting = engine.take() if waiting is None else waiting
                    if waiting is None:
                        break
                    try:
                        future = pool.submit(_work, engine.function, waiting, engine.threads(waiting))
                    except BrokenProcessPool:
                        broken = True
                    else:
                        running[future], taken = waiting, taken + 1
                        engine.on_start(waiting)
                        waiting = None
                if not running:
                    return taken, waiting
                done = wait(running, timeout=LISTEN_SECONDS, return_when=FIRST_COMPLETED).done
                for news in _news(told):
                    if not isinstance(news, _Saved):
                        engine.on_told(news)
                for future in done:
                    error, broken = _error_of(future, broken)
                    yield Ended(running.pop(future), None if error else future.result(), error)
        except Stopped as stop:
            terminate(pool, SAVING_SECONDS)
            saved = [news.text for news in _news(told) if isinstance(news, _Saved)]
            raise Stopped(stop.status - STOPPED, "; ".join(saved)) from None
        except GeneratorExit:
            terminate(pool, SAVING_SECONDS)
            raise


@dataclass(frozen=True)
class _Saved:
    """What a process that was asked to stop has saved."""

    text: str


def _news(told: SimpleQueue[Any]) -> Iterator[Any]:
    while not told.empty():
        yield told.get()


def _error_of(future: Future[Any], broken: bool) -> tuple[Exception | None, bool]:
    """The error of a finished task, None for none, and whether its pool is broken. Raises what is no Exception."""
    error = future.exception()
    if isinstance(error, BrokenProcessPool):
        if not broken:
            time.sleep(SIGNAL_SECONDS)
        return RuntimeError(f"its process, or one beside it, was killed: {USE_FEWER}"), True
    if error is not None and not isinstance(error, Exception):
        raise error
    return error, broken


_tell: list[Tell] = []
"""That of this process, if it is of a pool."""


def _begin_worker(told: SimpleQueue[Any]) -> None:
    keep_freed_memory()
    _tell.append(told.put)


def _work(function: Callable[[Task, Tell], Result], task: Task, threads: int) -> Result:
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads), stops_on_signals(lambda: None):
            return function(task, _tell[0])
    except Stopped as stop:  # a pool waits for the end of processes that it has terminated
        if stop.saved:
            _tell[0](_Saved(stop.saved))
        os._exit(stop.status)
