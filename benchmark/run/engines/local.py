"""Run tasks on this machine, in this process or in a pool of processes."""

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
    """A finished task with its result or its error."""

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

    Up to `jobs` processes run tasks concurrently, each on `threads` threads; a single job runs in this process. With
    several, function and tasks must be picklable. Ctrl-C drops the tasks that have not begun.
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
    """Open pools until the queue is empty; if a pool takes no task, the first of the queue fails."""
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
    """Run the queue in one pool until it is empty or a process is killed.

    No more tasks are submitted than there are processes, so `on_start` is exact. A killed process breaks the pool and
    fails its running tasks; a task whose submission fails stays in the queue.
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
