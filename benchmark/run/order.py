"""What a runner orders of an engine: the tasks that are left, and what is done when one begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from benchmark.results.failures import End
from benchmark.results.store import Store
from benchmark.run.apart.attempt import Attempt
from benchmark.run.apart.code import digests_of_code
from benchmark.run.engines.engine import Not, Order, Tell
from benchmark.run.engines.engine import Task as EngineTask
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.run.machine import in_ranks
from benchmark.run.pretraining import PretrainingJob
from benchmark.run.work.jobs import Job, cell_jobs, configs_of, name_of, pretraining_job, run_job, tasks_of
from benchmark.run.work.left import Left, claimed, is_free, release
from benchmark.run.work.setup import Setup
from benchmark.run.work.silence import seems_left
from benchmark.run.work.stored import failed, failure_file, is_finished

Expected = Callable[[Pretraining | Cell], float]
"""Seconds that a task is expected to take."""


def at_once(task: Pretraining | Cell) -> float:
    """Where nothing is known of what tasks take: no time."""
    return 0.0


def order_of(
    left: Left, setup: Setup, expected: Expected, *, apart: bool, detached: bool = False
) -> Order[Job, list[End]]:
    """What is left: pretrainings first, each cell as soon as its own encoder is there.

    Several ranks have done the pretrainings that are free before (`benchmark.run.ranks`). apart, detached: as engines.
    """
    machine, watch = setup.machine, setup.watch
    configs = configs_of(setup.config, [*left.pretrainings.values(), *left.cells.values()])
    own: Iterable[Pretraining] = left.pretrainings.values()
    cells: Iterable[Cell] = left.cells.values()
    if in_ranks(machine):
        own, cells = (), left.ready()
    pretrainings = [pretraining_job(task, configs, setup) for task in own]
    jobs: list[Job] = [*pretrainings, *cell_jobs(cells, configs, setup)]
    abreast = machine.abreast(sum(job.task.method.trains for job in pretrainings))
    threads = machine.pretraining_threads(abreast)
    function: Callable[[Job, Tell], list[End] | Not | None] = attempt_of(left, setup) if apart else run_job
    return Order(
        [engine_task(job, expected) for job in jobs],
        function,
        threads=lambda task: threads if task.whole else machine.cell_threads(),
        abreast=machine.abreast_on_a_device(abreast),
        begin=lambda task: begin(task, left, setup, keep=not apart, once=detached),
        found=lambda task: found(task.work, left, setup.store),
        on_start=lambda task: watch.started(name_of(task.work)),
        on_told=lambda news: watch.note(news) if isinstance(news, str) else watch.told(news),
    )


def attempt_of(left: Left, setup: Setup) -> Attempt:
    """The function of engines whose tasks run apart."""
    threads = setup.machine.cell_threads() if setup.machine.device.type == "cpu" else None
    return Attempt(setup.store.root.resolve(), left.failed_before, digests_of_code(), threads)


def engine_task(job: Job, expected: Expected) -> EngineTask[Job]:
    """A job as engines know it."""
    return as_engine_task(tasks_of(job), job, expected)


def as_engine_task(tasks: Sequence[Pretraining | Cell], work: Any, expected: Expected) -> EngineTask[Any]:
    """Tasks that run at once as engines know them: a cell waits for its own pretraining, and for no other."""
    first, *_ = tasks
    after = first.pretrain_key if isinstance(first, Cell) else ""
    keys = tuple(task.key for task in tasks)
    whole = isinstance(first, Pretraining)
    return EngineTask(first.key, task_name(first), work, after, sum(map(expected, tasks)), whole, keys)


def begin(task: EngineTask[Job], left: Left, setup: Setup, *, keep: bool, once: bool = False) -> EngineTask[Job] | Not:
    """What of an engine's task is to be done by this runner, which claims it; without `keep` the task's process will.

    once: it is not asked again, so that no claim can be watched: what a runner seems to have left is begun too, and
    the task's process watches the claim. Not.YET: other runners hold what is left of it; Not.EVER: nothing is left.
    """
    open_tasks = [own for own in tasks_of(task.work) if left.has(own)]
    free = {own.key for own in open_tasks if is_free(own, left, setup)}
    if once:
        free |= {own.key for own in open_tasks if left.has(own) and is_left(own, left)}
    if not keep:
        release([key for own in open_tasks if own.key in free for key in claimed(own)], left.claims)
    if not free:
        return Not.YET if any(map(left.has, open_tasks)) else Not.EVER
    if isinstance(task.work, PretrainingJob):
        return task
    own = tuple(own for own in task.work if own.cell.key in free)
    return replace(task, work=own, parts=tuple(job.cell.key for job in own))


def is_left(task: Pretraining | Cell, left: Left) -> bool:
    """Whether whoever holds a task seems to have ended."""
    return all(seems_left(key, left.claims) for key in claimed(task))


def found(job: Job, left: Left, store: Store) -> list[End] | None:
    """How the tasks of a job that ran apart have ended, as the store says; None if one has not."""
    ends = []
    for task in filter(left.has, tasks_of(job)):
        if is_finished(task, store):
            ends.append(End(task.key, 0.0, None))
        elif failed(failure_file(task, store)) not in (None, left.failed_before[task.key]):
            ends.append(End(task.key, 0.0, store.failures([task.key])[task.key]))
        else:
            return None
    return ends
