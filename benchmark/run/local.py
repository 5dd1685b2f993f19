"""The contract of an engine, and the engine of this machine: tasks side by side on its devices.

An engine runs tasks, some of which wait for others, and yields each as it ends. It knows nothing of ECG.

    engine.run(order)     yields each task as it ends, with its result or its error

The order holds the function that runs a task, and a callback (`begin`) that claims a task before it starts. A task
names the one that must have ended before (`after`). Results are in the store alone; an engine keeps none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch
from threadpoolctl import threadpool_limits

from benchmark.config.sections import EngineSection
from benchmark.machine.processes import (
    GRACE_SECONDS,
    STOPPED,
    Stopped,
    closing_pool,
    keep_freed_memory,
    open_pool,
    stops_on_signals,
    terminate,
)

Work = TypeVar("Work")
Result = TypeVar("Result")
Tell = Callable[[Any], None]
"""Reports the progress of a running task to the caller, as a picklable value."""


class Start(Enum):
    """Why a task does not begin."""

    LATER = "another runner has it"
    """The engine asks again later."""
    NEVER = "nothing of it is left to do"
    """Tasks that wait for it may begin."""


@dataclass(frozen=True)
class Task(Generic[Work]):
    """Something to run."""

    key: str
    name: str
    """In messages."""
    work: Work
    """The argument of the function; picklable."""
    after: str = ""
    """Key of the task that must have ended before; '' for none."""
    seconds: float = 0.0
    """Expected duration."""
    is_pretraining: bool = False
    """A pretraining: `Order.concurrent` limits how many of them a device has at a time."""
    parts: tuple[str, ...] = ()
    """Keys of the tasks of the grid that it computes, where these are more than `key`."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the tasks of the grid that it computes."""
        return self.parts or (self.key,)


@dataclass(frozen=True)
class Ended(Generic[Work, Result]):
    """A finished task with its result or its error."""

    task: Task[Work]
    result: Result | None
    error: Exception | None


class Submitted(NamedTuple):
    """A job in the queue of a cluster."""

    id: str
    state: str
    """In words; '' where the cluster cannot be asked from here."""
    keys: Sequence[str]
    """Keys of the tasks of the grid that it computes."""
    since: int
    """When it was submitted, ns, by the clock of the store's file system."""


@dataclass(frozen=True)
class Order(Generic[Work, Result]):
    """Tasks, the function that runs them, and callbacks."""

    tasks: Sequence[Task[Work]]
    """In the order in which they should begin."""
    function: Callable[[Work, Tell], Result | Start | None]
    """Runs a task; picklable. Of a remote task it returns `Start.LATER` or nothing, and `found` has the result."""
    threads: Callable[[Task[Work]], int] = lambda task: 1
    """Number of threads of a task's process."""
    concurrent: int = 1
    """Most `is_pretraining` tasks at a time on a device."""
    begin: Callable[[Task[Work]], Task[Work] | Start] = lambda task: task
    """Called when a task can begin, after earlier ends were consumed; returns the task reduced to its open part."""
    found: Callable[[Task[Work]], Result | None] = lambda task: None
    """The result of a remote task, read from the store; None while it has not ended."""
    on_start: Callable[[Task[Work]], None] = lambda task: None
    on_told: Tell = lambda news: None


class Engine(Protocol):
    """Where tasks run."""

    @property
    def remote(self) -> bool:
        """Whether tasks outlive this process; such remote tasks claim their work, and their ends are in the store."""

    @property
    def doubts(self) -> Sequence[str]:
        """Warnings about where the tasks will run, printed before the first one."""

    def run(self, order: Order[Work, Result]) -> Generator[Ended[Work, Result], None, None]:
        """Run all tasks that can begin and yield each as it ends; an exception in one does not stop the others.

        A task that was not yielded is not finished: another runner has it.
        """


class Waiting(Generic[Work, Result]):
    """The tasks of an order that have not begun."""

    def __init__(self, order: Order[Work, Result]) -> None:
        self._order = order
        self._tasks = list(order.tasks)
        self._open = {task.key for task in order.tasks}

    def __len__(self) -> int:
        return len(self._tasks)

    def take(self, *, pretrainings: bool = True) -> Task[Work] | None:
        """The next task that can begin, a pretraining only if `pretrainings`; None if there is none now."""
        for task in list(self._tasks):
            if task.after in self._open or (task.is_pretraining and not pretrainings):
                continue
            begun = self._order.begin(task)
            if begun is Start.LATER:
                continue
            self._tasks.remove(task)
            if isinstance(begun, Task):
                return begun
            self.ended(task)
        return None

    def ended(self, task: Task[Work]) -> None:
        """Let the tasks begin that wait for this one."""
        self._open.discard(task.key)


@dataclass(eq=False)
class DeviceSlot:
    """A device, and the number of tasks that run there."""

    jobs: int
    """Most tasks at a time."""
    running: int = 0
    pretrainings: int = 0
    """Pretrainings among the running tasks."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of its processes."""

    def count(self, task: Task[Any], change: int) -> None:
        """Count a task that begins (1) or ends (-1)."""
        self.running += change
        self.pretrainings += change * task.is_pretraining


def next_task(
    waiting: Waiting[Work, Result],
    places: Sequence[DeviceSlot],
    concurrent: int,
    held: Task[Work] | None = None,
) -> tuple[Task[Work], int] | None:
    """The next task that can begin and the number of its place, the least busy one; None if there is none now.

    concurrent: most pretrainings at a time on a device; held: a task that was taken before, and begins first.
    """
    free = [number for number, place in enumerate(places) if place.running < place.jobs]
    roomy = [number for number in free if places[number].pretrainings < concurrent]
    task = held or (waiting.take(pretrainings=bool(roomy)) if free else None)
    if task is None:
        return None
    return task, min(roomy if task.is_pretraining and roomy else free, key=lambda number: places[number].running)


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
    results must be picklable. A stop asks the running tasks to save and waits for them
    (`benchmark.machine.processes`); any other exception in the caller kills their processes.
    """

    jobs: int
    """Of all devices together."""
    devices: tuple[str, ...] = ()
    """What CUDA_VISIBLE_DEVICES is in the processes of each device; () for this process's own."""
    remote: bool = False
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
        yield from _side_by_side(order, waiting, [DeviceSlot(each, environment=own) for own in shares])


@dataclass(frozen=True)
class EngineRequest:
    """The values with which an engine is opened."""

    settings: EngineSection
    jobs: int
    devices: tuple[str, ...]
    results: Path
    """The store."""
    folders: Sequence[Path]
    """Further folders that tasks read."""


def open_local(request: EngineRequest) -> Local:
    """The engine with the jobs and devices of a request."""
    return Local(request.jobs, request.devices)


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
    order: Order[Work, Result], waiting: Waiting[Work, Result], places: list[DeviceSlot]
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
    places: list[DeviceSlot]
    told: SimpleQueue[Any] = field(default_factory=lambda: get_context("spawn").SimpleQueue())
    pools: list[ProcessPoolExecutor] = field(default_factory=list)
    running: dict[Future[Result], tuple[Task[Work], DeviceSlot]] = field(default_factory=dict)
    taken: int = 0
    broken: bool = False

    def until_broken(self, first: Task[Work]) -> Generator[Ended[Work, Result], None, tuple[int, Task[Work] | None]]:
        """Run `first`, then the waiting tasks, until none is left or a process is killed.

        Returns how many tasks the pools took, and the one whose submission failed. No more tasks are submitted than
        there are processes, so `on_start` is exact. A killed process breaks its pool and fails its running tasks.
        """
        for place in self.places:
            place.running = place.pretrainings = 0
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
            found = next_task(self.waiting, self.places, self.order.concurrent, held)
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
