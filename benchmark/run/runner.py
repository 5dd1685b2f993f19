"""A runner computes the missing part of a grid: it pretrains once per key, evaluates, and stores each result.

Several runners on one store share the work by claims: each computes the unclaimed tasks and then waits for the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from benchmark.data.trials import trials
from benchmark.results.store import End, Store
from benchmark.run.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.grid import Cell, Pretraining, task_name
from benchmark.run.jobs import (
    Job,
    OpenTasks,
    ProgressCallbacks,
    RemoteJob,
    RunContext,
    Work,
    cell_jobs,
    configs_of,
    digests_of_code,
    failure_of,
    has_failed,
    is_finished,
    is_free,
    killed,
    name_of,
    open_tasks_of,
    pretraining_job,
    run_job,
    settle,
    tasks_of,
)
from benchmark.run.local import Engine, Local, Order, Start, Tell
from benchmark.run.local import Task as EngineTask
from benchmark.run.pretraining import PretrainingJob

Expected = Callable[[Pretraining | Cell], float]
"""Seconds that a task is expected to take."""


def no_estimate(task: Pretraining | Cell) -> float:
    """The expected seconds of a task where there is no estimate: 0."""
    return 0.0


def tasks_for_engine(left: OpenTasks, setup: RunContext, expected: Expected, *, remote: bool) -> Order[Job, list[End]]:
    """The open tasks as an engine takes them: pretrainings first, each cell after the pretraining of its encoder.

    remote: attribute of the engine.
    """
    machine, watch = setup.machine, setup.watch
    configs = configs_of(setup.config, left.tasks.values())
    pretrainings = [pretraining_job(task, configs, setup) for task in left.pretrainings]
    jobs: list[Job] = [*pretrainings, *cell_jobs(left.cells, configs, setup)]
    concurrent = machine.concurrent(sum(job.task.method.trains for job in pretrainings))
    threads = machine.pretraining_threads(concurrent)
    function: Callable[[Job, Tell], list[End] | Start | None] = remote_job_of(left, setup) if remote else run_job
    return Order(
        [as_engine_task(tasks_of(job), job, expected) for job in jobs],
        function,
        threads=lambda task: threads if task.is_pretraining else machine.cell_threads(),
        concurrent=machine.concurrent_on_a_device(concurrent),
        begin=lambda task: begin(task, left, setup, keep=not remote),
        found=lambda task: found(task.work, left, setup.store),
        on_start=lambda task: watch.started(name_of(task.work)),
        on_told=watch.told,
    )


def remote_job_of(left: OpenTasks, setup: RunContext) -> RemoteJob:
    """The function that runs a task in a process which outlives this one, e.g. a job of a cluster."""
    threads = setup.machine.cell_threads() if setup.machine.device.type == "cpu" else None
    return RemoteJob(setup.store.root.resolve(), left.failed_before, digests_of_code(), threads)


def as_engine_task(tasks: Sequence[Pretraining | Cell], work: Any, expected: Expected) -> EngineTask[Any]:
    """The task of an engine that computes several tasks of the grid; cells wait for their own pretraining alone."""
    first, *_ = tasks
    after = first.pretrain_key if isinstance(first, Cell) else ""
    keys = tuple(task.key for task in tasks)
    is_pretraining = isinstance(first, Pretraining)
    return EngineTask(first.key, task_name(first), work, after, sum(map(expected, tasks)), is_pretraining, keys)


def begin(task: EngineTask[Job], left: OpenTasks, setup: RunContext, *, keep: bool) -> EngineTask[Job] | Start:
    """Claim the unfinished part of an engine's task and return the task reduced to it.

    keep=False: release the claims again, since the process that runs the task will take them. Returns Start.LATER if
    other runners hold the rest, and Start.NEVER if nothing is left.
    """
    open_tasks = [own for own in tasks_of(task.work) if own.key in left.tasks]
    free = {own.key for own in open_tasks if is_free(own, left, setup)}
    for key in () if keep else free:
        left.claims.release(key)
    if not free:
        return Start.LATER if any(own.key in left.tasks for own in open_tasks) else Start.NEVER
    if isinstance(task.work, PretrainingJob):
        return task
    jobs = tuple(job for job in task.work if job.cell.key in free)
    return replace(task, work=jobs, parts=tuple(job.cell.key for job in jobs))


def found(job: Job, left: OpenTasks, store: Store) -> list[End] | None:
    """The ends of the tasks of a remote job, read from the store; None while one of them has not ended."""
    ends = []
    for task in tasks_of(job):
        if task.key not in left.tasks:
            continue
        if is_finished(task, store):
            ends.append(End(task.key, 0.0, None))
        elif has_failed(task, left.failed_before, store):
            ends.append(End(task.key, 0.0, failure_of(task, store)))
        else:
            return None
    return ends


def do(work: Work, setup: RunContext, engine: Engine | None = None, expected: Expected = no_estimate) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest.

    Other runners on the store may do part of it; this one ends when all is done. engine: None for this machine,
    `machine.jobs` jobs at a time.
    """
    engine, claims = engine or Local(setup.machine.jobs), Claims(setup.store.root / CLAIMS)
    left = open_tasks_of(work, setup.store, claims)
    make_trials(work, setup)
    for doubt in engine.doubts if left.cells else ():
        setup.watch.note(f"warning: {doubt}")
    unshared = ""
    with claims:
        while left.cells:
            before = len(left.tasks)
            run_free(left, setup, engine, expected)
            if claims.unshared and not unshared:
                unshared = claims.unshared
                setup.watch.note(f"warning: no claims ({unshared}): another runner on this store may do the same tasks")
            if left.cells and len(left.tasks) == before:
                wait(left, setup.watch)
    return left.failures


def make_trials(work: Work, setup: RunContext) -> None:
    """Write and verify the pseudo-trials that the work needs, so that its processes find them."""
    config = setup.config
    configs = configs_of(config, [*work.pretrainings, *work.cells])
    lengths = {(cell.dataset, config.task_spec(configs[cell.variant.name].finetune).per_trial) for cell in work.cells}
    if work.pretrainings:
        lengths.add((config.data.pretrain, config.task_spec(config.pretrain).per_trial))
    for name, per_trial in lengths:
        trials(setup.prepared[name], per_trial)


def run_free(left: OpenTasks, setup: RunContext, engine: Engine, expected: Expected) -> None:
    """Run the tasks that no other runner has claimed."""
    order = tasks_for_engine(left, setup, expected, remote=engine.remote)
    with closing(engine.run(order)) as ends:
        for ended in ends:
            outcomes = killed(ended.task.work, ended.error, setup.store) if ended.error else ended.result or []
            for end in outcomes:
                settle(end, left, setup, stored=engine.remote and not ended.error)


def wait(left: OpenTasks, watch: ProgressCallbacks) -> None:
    """Report which runners hold the open tasks, and wait a moment."""
    tasks: list[Pretraining | Cell] = [*left.pretrainings, *left.ready]
    holders = Counter(left.claims.holder(task.key) for task in tasks)
    words = ", ".join(f"{count} of {holder}" for holder, count in sorted(holders.items()) if holder)
    watch.waiting(f"waiting for the tasks of other runners: {words}")
    time.sleep(POLL_SECONDS)
