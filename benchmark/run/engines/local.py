"""Run tasks on this machine, in this process or in processes of their own, on several GPUs a pool of them for each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from typing import Any, Generic

import torch
from threadpoolctl import threadpool_limits

from benchmark.machine.memory import keep_freed_memory
from benchmark.machine.stop import GRACE_SECONDS, STOPPED, Stopped, stops_on_signals
from benchmark.machine.workers import closing_pool, open_pool, terminate
from benchmark.run.engines.engine import Ended, Order, Result, Task, Tell, Waiting, Work
from benchmark.run.engines.places import Place, next_task

USE_FEWER = "if memory ran out, use fewer jobs (--jobs-per-device)"
SIGNAL_SECONDS = 0.5
"""Wait after a process was killed: a signal that was sent to all processes of a group stops this one too."""
SAVING_SECONDS = GRACE_SECONDS + 0.5
"""Most that a stop waits for the running tasks."""
LISTEN_SECONDS = 0.25
"""Between two looks at what running tasks tell."""


@dataclass(frozen=True)
class Local:
    """The engine `local`.

    Up to `jobs` processes run tasks concurrently; a single one is this process. With several, function, work and
    results must be picklable. A stop asks the running tasks to save and waits for them (`benchmark.machine.stop`); any
    other exception in the caller kills their processes.
    """

    jobs: int
    """Of all devices together."""
    devices: tuple[str, ...] = ()
    """What CUDA_VISIBLE_DEVICES is in the processes of each device; () for this process's own."""
    apart: bool = False
    detached: bool = False
    doubts: tuple[str, ...] = ()

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        """Run tasks as `Engine.run`."""
        waiting = Waiting(order)
        jobs = min(self.jobs, len(order.tasks))
        if jobs <= 1 and not self.devices:
            yield from _one_by_one(order, waiting)
            return
        shares = [{"CUDA_VISIBLE_DEVICES": name} for name in self.devices] or [{}]
        each = max(1, (self.jobs if self.devices else jobs) // len(shares))
        yield from _side_by_side(order, waiting, [_Device(each, environment=own) for own in shares])


@dataclass(eq=False)
class _Device(Place):
    """A device with the environment of its processes."""

    environment: Mapping[str, str] = field(default_factory=dict)


def _one_by_one(order: Order[Work, Result], waiting: Waiting[Work, Result]) -> Iterator[Ended[Work, Result]]:
    before = torch.get_num_threads()
    try:
        while (task := waiting.take()) is not None:
            order.on_start(task)
            torch.set_num_threads(order.threads(task))
            with threadpool_limits(order.threads(task)):
                ended = _attempt(order, task)
            yield ended
            waiting.ended(task)
    finally:
        torch.set_num_threads(before)


def _attempt(order: Order[Work, Result], task: Task[Work]) -> Ended[Work, Result]:
    try:
        return Ended(task, order.function(task.work, order.on_told), None)  # type: ignore[arg-type]
    except Exception as error:
        return Ended(task, None, error)


def _side_by_side(
    order: Order[Work, Result], waiting: Waiting[Work, Result], places: list[_Device]
) -> Iterator[Ended[Work, Result]]:
    """Open pools until no task is left; if a pool takes no task, the first that waits fails."""
    first = waiting.take()
    while first is not None:
        taken, first = yield from _Pools(order, waiting, places).until_broken(first)
        if not taken and first is not None:
            yield Ended(first, None, RuntimeError(f"the processes were killed before it began: {USE_FEWER}"))
            waiting.ended(first)
            first = None
        if first is None:
            first = waiting.take()


@dataclass
class _Pools(Generic[Work, Result]):
    """A pool of processes per place, which share the waiting tasks."""

    order: Order[Work, Result]
    waiting: Waiting[Work, Result]
    places: list[_Device]
    told: SimpleQueue[Any] = field(default_factory=lambda: get_context("spawn").SimpleQueue())
    pools: list[ProcessPoolExecutor] = field(default_factory=list)
    running: dict[Future[Result], tuple[Task[Work], _Device]] = field(default_factory=dict)
    taken: int = 0
    broken: bool = False

    def until_broken(self, first: Task[Work]) -> Generator[Ended[Work, Result], None, tuple[int, Task[Work] | None]]:
        """Run `first`, then the waiting tasks, until none is left or a process is killed.

        Returns how many tasks the pools took, and the one whose submission failed. No more tasks are submitted than
        there are processes, so `on_start` is exact. A killed process breaks its pool and fails its running tasks.
        """
        for place in self.places:
            place.running = place.whole = 0
        with ExitStack() as stack:
            for place in self.places:
                try:
                    pool = open_pool(place.jobs, _begin_worker, (self.told, dict(place.environment)))
                except BrokenProcessPool:
                    return 0, first
                self.pools.append(pool)
                stack.enter_context(closing_pool(pool))
            try:
                left = yield from self._work_off(first)
                return self.taken, left
            except Stopped as stop:
                terminate(self.pools, SAVING_SECONDS)
                saved = [news.text for news in _news(self.told) if isinstance(news, _Saved)]
                raise Stopped(stop.status - STOPPED, "; ".join(saved)) from None
            except GeneratorExit:
                terminate(self.pools, SAVING_SECONDS)
                raise

    def _work_off(self, first: Task[Work]) -> Generator[Ended[Work, Result], None, Task[Work] | None]:
        """Returns the task whose submission failed, None if there is none."""
        held: Task[Work] | None = first
        while True:
            held = self._fill(held)
            if not self.running:
                return held
            done = wait(self.running, timeout=LISTEN_SECONDS, return_when=FIRST_COMPLETED).done
            for news in _news(self.told):
                if not isinstance(news, _Saved):
                    self.order.on_told(news)
            for future in done:
                error, self.broken = _error_of(future, self.broken)
                task, place = self.running.pop(future)
                place.count(task, -1)
                yield Ended(task, None if error else future.result(), error)
                self.waiting.ended(task)

    def _fill(self, held: Task[Work] | None) -> Task[Work] | None:
        """Submit tasks while processes are free, `held` first; returns one that could not be submitted."""
        function: Any = self.order.function
        while not self.broken:
            found = next_task(self.waiting, self.places, self.order.abreast, held)
            if found is None:
                return None
            held, number = found
            place, pool = self.places[number], self.pools[number]
            try:
                future = pool.submit(_work, function, held.work, self.order.threads(held))
            except BrokenProcessPool:
                self.broken = True
                return held
            self.running[future] = held, place
            place.count(held, 1)
            self.taken += 1
            self.order.on_start(held)
            held = None
        return held


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


def _begin_worker(told: SimpleQueue[Any], environment: Mapping[str, str]) -> None:
    os.environ.update(environment)  # before CUDA is looked for
    keep_freed_memory()
    _tell.append(told.put)


def _work(function: Callable[[Work, Tell], Result], work: Work, threads: int) -> Result:
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads), stops_on_signals(lambda: None):
            return function(work, _tell[0])
    except Stopped as stop:  # a pool waits for the end of processes that it has terminated
        if stop.saved:
            _tell[0](_Saved(stop.saved))
        os._exit(stop.status)
