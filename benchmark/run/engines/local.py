"""Run tasks on this machine, in this process or in a pool of processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

import torch
from threadpoolctl import threadpool_limits

from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.workers import closing_pool, open_pool

USE_FEWER = "if memory ran out, use fewer jobs (--jobs-per-device)"
SIGNAL_SECONDS = 0.5
"""Wait after a process was killed: a signal that was sent to all processes of a group stops this one too."""
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended(Generic[Task, Result]):
    """A finished task with its result or its error."""

    task: Task
    result: Result | None
    error: Exception | None


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    jobs: int,
    threads: int,
    on_start: Callable[[Task], None],
) -> Generator[Ended[Task, Result], None, None]:
    """Run every task and yield it as it ends; an exception in one does not stop the others.

    Up to `jobs` processes run tasks concurrently, each on `threads` threads; a single job runs in this process. With
    several, function and tasks must be picklable. A task is taken from `tasks` when it can begin. An exception in the
    caller, Ctrl-C too, abandons the running tasks and kills their processes.
    """
    if jobs <= 1:
        yield from _one_by_one(function, tasks, threads, on_start)
    else:
        yield from _side_by_side(function, iter(tasks), jobs, threads, on_start)


def _one_by_one(
    function: Callable[[Task], Result], tasks: Iterable[Task], threads: int, on_start: Callable[[Task], None]
) -> Iterator[Ended[Task, Result]]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for task in tasks:
            on_start(task)
            with threadpool_limits(threads):
                ended = _attempt(function, task)
            yield ended
    finally:
        torch.set_num_threads(before)


def _attempt(function: Callable[[Task], Result], task: Task) -> Ended[Task, Result]:
    try:
        return Ended(task, function(task), None)
    except Exception as error:
        return Ended(task, None, error)


def _side_by_side(
    function: Callable[[Task], Result], tasks: Iterator[Task], jobs: int, threads: int, on_start: Callable[[Task], None]
) -> Iterator[Ended[Task, Result]]:
    """Open pools until no task is left; if a pool takes no task, the first that waits fails."""
    waiting = deque(islice(tasks, 1))
    while waiting:
        taken = yield from _until_broken(function, waiting, tasks, jobs, threads, on_start)
        if not taken:
            error = RuntimeError(f"the processes were killed before it began: {USE_FEWER}")
            yield Ended(waiting.popleft(), None, error)
        if not waiting:
            waiting.extend(islice(tasks, 1))


def _until_broken(
    function: Callable[[Task], Result],
    waiting: deque[Task],
    tasks: Iterator[Task],
    jobs: int,
    threads: int,
    on_start: Callable[[Task], None],
) -> Generator[Ended[Task, Result], None, int]:
    """Run `waiting`, then `tasks`, in one pool until none is left or a process is killed; returns how many it took.

    No more tasks are submitted than there are processes, so `on_start` is exact. A killed process breaks the pool and
    fails its running tasks; a task whose submission fails stays in `waiting`.
    """
    try:
        pool = open_pool(jobs, _begin_worker, (threads,))
    except BrokenProcessPool:
        return 0
    running: dict[Future[Result], Task] = {}
    taken, broken = 0, False
    with closing_pool(pool):
        while True:
            while len(running) < jobs and not broken:
                waiting.extend(islice(tasks, 0 if waiting else 1))
                if not waiting:
                    break
                try:
                    running[pool.submit(function, waiting[0])] = waiting[0]
                except BrokenProcessPool:
                    broken = True
                else:
                    taken += 1
                    on_start(waiting.popleft())
            if not running:
                return taken
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    if not broken:
                        time.sleep(SIGNAL_SECONDS)
                    broken = True
                    error = RuntimeError(f"its process, or one beside it, was killed: {USE_FEWER}")
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield Ended(running.pop(future), None if error else future.result(), error)


def _begin_worker(threads: int) -> None:
    keep_freed_memory()
    torch.set_num_threads(threads)
    threadpool_limits(threads)
