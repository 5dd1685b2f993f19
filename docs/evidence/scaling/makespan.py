"""How long an order takes from start to end on N devices: a simulation of an engine, from the seconds of its tasks.

    as_local(tasks, ...)    the rule of the engine `local`: places with tasks side by side
    as_slurm(tasks, ...)    the rule of the engine `slurm`: its batches of cells, as jobs in the order of submission

Both use the engines' own rules of what begins next and what shares a job. A task takes what it is expected to take,
wherever and beside whatever it runs; no task fails, and no other runner or user is there.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmark.cli.dry_run import Seconds
from benchmark.config.sections import EngineSection
from benchmark.extras.slurm import Batch, arrays_of, batches_of
from benchmark.run.jobs import Work, groups_of
from benchmark.run.local import DeviceSlot, Order, Task, Waiting, next_task
from benchmark.run.runner import as_engine_task

JOB_SECONDS = 10.0
"""From the moment in which a job may begin to its first task: the cluster's scheduling and the job's imports."""


@dataclass(frozen=True)
class Makespan:
    """What a simulation found."""

    seconds: float
    """From the first task's begin to the last one's end."""
    busy: float
    """Share of the devices' time, with all tasks that they can run side by side, in which something runs."""
    chain: tuple[str, ...]
    """Names of the tasks of the longest chain, each of which waits for the one before."""
    chain_seconds: float
    """No number of devices takes less."""
    begun: tuple[tuple[str, float], ...]
    """(key, second) of each task as it begins."""


class Devices(Protocol):
    """Decides what begins."""

    @property
    def room(self) -> int:
        """Tasks of one device that run at a time, on all devices."""

    def take(self, waiting: Waiting[Any, Any]) -> Task[Any] | None:
        """The next task that begins now; None if none does."""

    def leave(self, task: Task[Any]) -> None:
        """A task has ended."""

    def width(self, task: Task[Any]) -> int:
        """How much of the room a task takes."""


@dataclass
class LocalDevices:
    """The devices of one machine, or machines alike that share a store."""

    places: list[DeviceSlot]
    concurrent: int
    """Most pretrainings at a time on a device."""
    where: dict[str, int] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """Tasks at a time."""
        return sum(place.jobs for place in self.places)

    def take(self, waiting: Waiting[Any, Any]) -> Task[Any] | None:
        """What the engine `local` begins next."""
        found = next_task(waiting, self.places, self.concurrent)
        if found is None:
            return None
        task, number = found
        self.where[task.key] = number
        self.places[number].count(task, 1)
        return task

    def leave(self, task: Task[Any]) -> None:
        """Free its place."""
        self.places[self.where[task.key]].count(task, -1)

    def width(self, task: Task[Any]) -> int:
        """One of the tasks at a time."""
        return 1


@dataclass
class ClusterDevices:
    """The devices of a cluster, which takes jobs in the order of submission, those first that fit."""

    room: int
    ranks: int
    """Devices of a whole job."""
    free: int = field(init=False)

    def __post_init__(self) -> None:
        self.free = self.room

    def take(self, waiting: Waiting[Any, Any]) -> Task[Any] | None:
        """The first job in the queue that can begin and fits."""
        task = waiting.take(pretrainings=self.free >= self.ranks) if self.free else None
        if task is not None:
            self.free -= self.width(task)
        return task

    def leave(self, task: Task[Any]) -> None:
        """Free its devices."""
        self.free += self.width(task)

    def width(self, task: Task[Any]) -> int:
        """A pretraining has a device for each rank, a job of cells one."""
        return self.ranks if task.is_pretraining else 1


def as_local(tasks: Sequence[Task[Any]], devices: int, *, jobs: int = 1, concurrent: int = 1) -> Makespan:
    """The makespan under the engine `local`.

    jobs: most tasks at a time on a device; concurrent: most pretrainings of these. The start of processes is left out.
    """
    return simulate(tasks, LocalDevices([DeviceSlot(jobs) for _ in range(devices)], concurrent))


def as_slurm(
    tasks: Sequence[Task[Any]], devices: int, settings: EngineSection, *, job_seconds: float = JOB_SECONDS
) -> Makespan:
    """The makespan under the engine `slurm` on a cluster that has so many devices free for it and nothing else.

    A job that reaches its time limit is taken to go on at once, and `at_once` to be no limit. Raises ValueError for
    fewer devices than a pretraining asks for.
    """
    ranks = max(1, settings.gpus)
    if devices < ranks and any(task.is_pretraining for task in tasks):
        raise ValueError(f"a pretraining asks for {ranks} devices, and there are {devices}")
    batches = batches_of(tasks, most=settings.tasks_per_job, minutes=settings.minutes)
    queue = [batch for array in arrays_of(batches, len(batches)) for batch in array]
    return simulate([as_job(batch, job_seconds) for batch in queue], ClusterDevices(devices, ranks))


def as_job(batch: Batch, job_seconds: float) -> Task[Any]:
    """A job as a task: its own start and its tasks one by one."""
    first, *_ = batch
    keys = tuple(key for task in batch for key in task.keys)
    seconds = job_seconds + sum(task.seconds for task in batch)
    return Task(first.key, first.name, None, first.after, seconds, first.is_pretraining, keys)


def simulate(tasks: Sequence[Task[Any]], devices: Devices) -> Makespan:
    """Run tasks on devices by their seconds, in the order in which they are given where nothing else decides."""
    waiting: Waiting[Any, Any] = Waiting(Order(tasks, lambda work, tell: None))
    running: list[tuple[float, int, Task[Any]]] = []
    begun: list[tuple[str, float]] = []
    now = work = 0.0
    while len(waiting) or running:
        while (task := devices.take(waiting)) is not None:
            heapq.heappush(running, (now + task.seconds, len(begun), task))
            begun.append((task.key, now))
            work += task.seconds * devices.width(task)
        if not running:
            raise ValueError(f"{len(waiting)} tasks wait for one that never ends")
        now, _, ended = heapq.heappop(running)
        devices.leave(ended)
        waiting.ended(ended)
    chain = longest_chain(tasks)
    total = sum(task.seconds for task in chain)
    return Makespan(now, work / (now * devices.room) if now else 1.0, names(chain), total, tuple(begun))


def longest_chain(tasks: Sequence[Task[Any]]) -> list[Task[Any]]:
    """The tasks, each waiting for the one before, that take longest together; none waits for one that is after it."""
    by_key = {task.key: task for task in tasks}
    best: dict[str, tuple[float, list[Task[Any]]]] = {}

    def ending(task: Task[Any]) -> tuple[float, list[Task[Any]]]:
        if task.key not in best:
            before = by_key.get(task.after)
            seconds, chain = ending(before) if before else (0.0, [])
            best[task.key] = seconds + task.seconds, [*chain, task]
        return best[task.key]

    return max(map(ending, tasks), key=lambda own: own[0], default=(0.0, []))[1]


def names(tasks: Sequence[Task[Any]]) -> tuple[str, ...]:
    """Names of some tasks."""
    return tuple(task.name for task in tasks)


def planned_tasks(work: Work, seconds: Seconds) -> list[Task[None]]:
    """The tasks that an engine is given for the missing work, with the seconds that each is expected to take."""
    alone = [as_engine_task([own], None, seconds) for own in work.pretrainings]
    return alone + [as_engine_task(group, None, seconds) for group in groups_of(work.cells)]
