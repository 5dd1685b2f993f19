"""Tasks on this machine: in this process, or side by side in a pool of processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from threadpoolctl import threadpool_limits

from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.workers import open_pool

USE_FEWER = "if memory ran out, use fewer jobs (--jobs-per-device)"
Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Ended(Generic[Task, Result]):
    """A task that ended, with its result, or with the error that it ended by."""

    task: Task
    result: Result | None
    error: Exception | None


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int,
    threads: int,
    on_start: Callable[[Task], None],
) -> Iterator[Ended[Task, Result]]:
    """Run every task and yield it as it ends; an exception in one does not stop the others.

    At most `jobs` run at a time, each on `threads` threads of a process of its own; one at a time runs in this process.
    Function and tasks must pickle where `jobs` is more than one. Ctrl-C drops the tasks that have not begun.
    """
    if min(jobs, len(tasks)) <= 1:
        yield from _one_by_one(function, tasks, threads, on_start)
    else:
        yield from _side_by_side(function, tasks, min(jobs, len(tasks)), threads, on_start)


def _one_by_one(
    function: Callable[[Task], Result], tasks: Sequence[Task], threads: int, on_start: Callable[[Task], None]
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
    function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, threads: int, on_start: Callable[[Task], None]
) -> Iterator[Ended[Task, Result]]:
    """One pool after the other, until the queue is worked off; a pool that takes no task costs the first in it."""
    waiting = deque(tasks)
    while waiting:
        before = len(waiting)
        yield from _until_broken(function, waiting, jobs, threads, on_start)
        if len(waiting) == before:
            error = RuntimeError(f"the processes were killed before it began: {USE_FEWER}")
            yield Ended(waiting.popleft(), None, error)


def _until_broken(
    function: Callable[[Task], Result], waiting: deque[Task], jobs: int, threads: int, on_start: Callable[[Task], None]
) -> Iterator[Ended[Task, Result]]:
    """Work off the queue in one pool; as many tasks are under way as processes, so that what is said to run does run.

    A process that is killed takes the pool, and the tasks under way, with it. That shows at a task's end, or when the
    next is handed over, which then stays in the queue.
    """
    try:
        pool = open_pool(jobs, _begin_worker, (threads,))
    except BrokenProcessPool:
        return
    running: dict[Future[Result], Task] = {}
    broken = False
    try:
        while running or (waiting and not broken):
            while len(running) < jobs and waiting and not broken:
                try:
                    running[pool.submit(function, waiting[0])] = waiting[0]
                except BrokenProcessPool:
                    broken = True
                else:
                    on_start(waiting.popleft())
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    broken = True
                    error = RuntimeError(f"its process, or one beside it, was killed: {USE_FEWER}")
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield Ended(running.pop(future), None if error else future.result(), error)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker(threads: int) -> None:
    keep_freed_memory()
    torch.set_num_threads(threads)
    threadpool_limits(threads)
