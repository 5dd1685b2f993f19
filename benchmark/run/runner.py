"""A runner computes the missing part of a grid: it pretrains once per key, evaluates, and stores each result.

Several runners on one store share the work by claims: each computes the unclaimed tasks and then waits for the others.
Under torchrun all ranks compute one pretraining after the other together; then each rank is a runner for the cells.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.config.config import Config
from benchmark.data.prepare import opened
from benchmark.data.trials import trials
from benchmark.machine.ranks import Machine, call_on_other_ranks, in_ranks, own_device, read_ranks
from benchmark.results.store import End, Store
from benchmark.run.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.grid import Cell, Pretraining, task_name
from benchmark.run.jobs import (
    NO_PROGRESS,
    Job,
    OpenTasks,
    ProgressCallbacks,
    RemoteJob,
    RunContext,
    Work,
    cell_jobs,
    claimed,
    configs_of,
    digests_of_code,
    failed,
    failure_file,
    folders_of,
    is_finished,
    is_free,
    killed,
    name_of,
    open_tasks_of,
    pretraining_job,
    release,
    run_job,
    seems_left,
    settle,
    tasks_of,
)
from benchmark.run.local import Engine, Local, Order, Start, Tell
from benchmark.run.local import Task as EngineTask
from benchmark.run.pretraining import PretrainingJob, in_step

Expected = Callable[[Pretraining | Cell], float]
"""Seconds that a task is expected to take."""


def no_estimate(task: Pretraining | Cell) -> float:
    """The expected seconds of a task where there is no estimate: 0."""
    return 0.0


def tasks_for_engine(
    left: OpenTasks, setup: RunContext, expected: Expected, *, remote: bool, detached: bool = False
) -> Order[Job, list[End]]:
    """The open tasks as an engine takes them: pretrainings first, each cell after the pretraining of its encoder.

    With several ranks only cells are handed over, since the ranks have computed the pretrainings together (`together`).
    remote, detached: attributes of the engine.
    """
    machine, watch = setup.machine, setup.watch
    configs = configs_of(setup.config, [*left.pretrainings.values(), *left.cells.values()])
    own: Iterable[Pretraining] = left.pretrainings.values()
    cells: Iterable[Cell] = left.cells.values()
    if in_ranks(machine):
        own, cells = (), left.ready()
    pretrainings = [pretraining_job(task, configs, setup) for task in own]
    jobs: list[Job] = [*pretrainings, *cell_jobs(cells, configs, setup)]
    concurrent = machine.concurrent(sum(job.task.method.trains for job in pretrainings))
    threads = machine.pretraining_threads(concurrent)
    function: Callable[[Job, Tell], list[End] | Start | None] = remote_job_of(left, setup) if remote else run_job
    return Order(
        [engine_task(job, expected) for job in jobs],
        function,
        threads=lambda task: threads if task.is_pretraining else machine.cell_threads(),
        concurrent=machine.concurrent_on_a_device(concurrent),
        begin=lambda task: begin(task, left, setup, keep=not remote, once=detached),
        found=lambda task: found(task.work, left, setup.store),
        on_start=lambda task: watch.started(name_of(task.work)),
        on_told=lambda news: watch.note(news) if isinstance(news, str) else watch.told(news),
    )


def remote_job_of(left: OpenTasks, setup: RunContext) -> RemoteJob:
    """The function that runs a task in a process which outlives this one, e.g. a job of a cluster."""
    threads = setup.machine.cell_threads() if setup.machine.device.type == "cpu" else None
    return RemoteJob(setup.store.root.resolve(), left.failed_before, digests_of_code(), threads)


def engine_task(job: Job, expected: Expected) -> EngineTask[Job]:
    """The task of an engine that runs a job."""
    return as_engine_task(tasks_of(job), job, expected)


def as_engine_task(tasks: Sequence[Pretraining | Cell], work: Any, expected: Expected) -> EngineTask[Any]:
    """The task of an engine that computes several tasks of the grid; cells wait for their own pretraining alone."""
    first, *_ = tasks
    after = first.pretrain_key if isinstance(first, Cell) else ""
    keys = tuple(task.key for task in tasks)
    is_pretraining = isinstance(first, Pretraining)
    return EngineTask(first.key, task_name(first), work, after, sum(map(expected, tasks)), is_pretraining, keys)


def begin(
    task: EngineTask[Job], left: OpenTasks, setup: RunContext, *, keep: bool, once: bool = False
) -> EngineTask[Job] | Start:
    """Claim the unfinished part of an engine's task and return the task reduced to it.

    keep=False: release the claims again, since the process that runs the task will take them. once=True (a detached
    engine, which asks only once): also start cells whose claim looks stale; their process watches the claim. Returns
    Start.LATER if other runners hold the rest, and Start.NEVER if nothing is left.
    """
    open_tasks = [own for own in tasks_of(task.work) if left.has(own)]
    free = {own.key for own in open_tasks if is_free(own, left, setup)}
    if once:
        free |= {own.key for own in open_tasks if left.has(own) and is_left(own, left)}
    if not keep:
        release([key for own in open_tasks if own.key in free for key in claimed(own)], left.claims)
    if not free:
        return Start.LATER if any(map(left.has, open_tasks)) else Start.NEVER
    if isinstance(task.work, PretrainingJob):
        return task
    own = tuple(own for own in task.work if own.cell.key in free)
    return replace(task, work=own, parts=tuple(job.cell.key for job in own))


def is_left(task: Pretraining | Cell, left: OpenTasks) -> bool:
    """Whether the process that holds a task's claims seems to have ended."""
    return all(seems_left(key, left.claims) for key in claimed(task))


def found(job: Job, left: OpenTasks, store: Store) -> list[End] | None:
    """The ends of the tasks of a remote job, read from the store; None while one of them has not ended."""
    ends = []
    for task in filter(left.has, tasks_of(job)):
        if is_finished(task, store):
            ends.append(End(task.key, 0.0, None))
        elif failed(failure_file(task, store)) not in (None, left.failed_before[task.key]):
            ends.append(End(task.key, 0.0, store.failures([task.key])[task.key]))
        else:
            return None
    return ends


First = Callable[[OpenTasks], None]
"""A step before each round of a runner."""


def work_off(work: Work, setup: RunContext, engine: Engine, expected: Expected, first: First) -> int:
    """Run the missing work; returns the number of failed tasks. A detached engine returns when all is handed over.

    first: called before each round; with several ranks it is the work that they compute together.
    """
    claims = Claims(setup.store.root / CLAIMS)
    left = open_tasks_of(work, setup.store, claims)
    make_trials(work, setup)
    for doubt in engine.doubts if left.cells else ():
        setup.watch.note(f"warning: {doubt}")
    unshared = ""
    with claims:
        while left.cells:
            before = left.count()
            first(left)
            run_free(left, setup, engine, expected)
            if engine.detached:
                break
            if claims.unshared and not unshared:
                unshared = claims.unshared
                setup.watch.note(f"warning: no claims ({unshared}): another runner on this store may do the same tasks")
            if left.cells and left.count() == before:
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
    with closing(
        engine.run(tasks_for_engine(left, setup, expected, remote=engine.remote, detached=engine.detached))
    ) as ends:
        for ended in ends:
            outcomes = killed(ended.task.work, ended.error, setup.store) if ended.error else ended.result or []
            for end in outcomes:
                settle(end, left, setup, stored=engine.remote and not ended.error)


def wait(left: OpenTasks, watch: ProgressCallbacks) -> None:
    """Report which runners hold the open tasks, and wait a moment."""
    open_tasks: list[Pretraining | Cell] = [*left.pretrainings.values(), *left.ready()]
    keys = {key for task in open_tasks for key in claimed(task)}
    watch.waiting(waiting_line(Counter(map(left.claims.holder, keys))))
    time.sleep(POLL_SECONDS)


def waiting_line(holders: Mapping[str, int]) -> str:
    """'waiting for 2 tasks of host:pid, 1 of host:pid', from the number of tasks by holder."""
    words = ", ".join(f"{count} of {holder}" for holder, count in sorted(holders.items()) if holder)
    return f"waiting for the tasks of other runners: {words}"


def together(work: Work, setup: RunContext) -> First:
    """The step of the first rank before each round: pretrain with all ranks, then hand out cells to them."""
    handed_out: set[str] = set()

    def first(left: OpenTasks) -> None:
        pretrain_in_step(left, setup)
        hand_out_cells(left, handed_out, work, setup)

    return first


def nothing(left: OpenTasks) -> None:
    """The step before each round of a runner of one process: none."""


def pretrain_in_step(left: OpenTasks, setup: RunContext) -> None:
    """Compute the unclaimed pretrainings, each in all ranks at once."""
    tasks = list(left.pretrainings.values())
    configs = configs_of(setup.config, tasks)
    for job in [pretraining_job(task, configs, setup) for task in tasks]:
        if is_free(job.task, left, setup):
            setup.watch.started(name_of(job))
            if job.ranks > 1:
                call_on_other_ranks(in_step, job)
            for end in run_job(job, setup.watch.told):
                settle(end, left, setup, stored=False)


def hand_out_cells(left: OpenTasks, handed_out: set[str], work: Work, setup: RunContext) -> None:
    """Make every other rank a runner for the cells whose encoder is stored and which were not handed out before."""
    cells = [cell for cell in left.ready() if cell.key not in handed_out]
    if cells:
        handed_out.update(cell.key for cell in cells)
        own = replace(work, pretrainings=(), cells=tuple(cells))
        call_on_other_ranks(do_cells, own, setup.config, folders_of(setup), setup.store.root, setup.machine)


def do_cells(work: Work, config: Config, folders: Mapping[str, Path], results: Path, machine: Machine) -> None:
    """Share cells with the other ranks, without output: failures are stored, and the first rank reports them."""
    prepared = {name: opened(folder) for name, folder in folders.items()}
    own = replace(machine, device=own_device(machine.device, read_ranks()), ranks=1)
    work_off(
        work, RunContext(config, prepared, Store(results), own, NO_PROGRESS), Local(own.jobs), no_estimate, nothing
    )


def do(work: Work, setup: RunContext, engine: Engine | None = None, expected: Expected = no_estimate) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest.

    Other runners on the store may do part of it; this one ends when all is done, under a detached engine when all is
    handed over. engine: None for this machine, `machine.jobs` jobs at a time.
    """
    first = together(work, setup) if in_ranks(setup.machine) else nothing
    return work_off(work, setup, engine or Local(setup.machine.jobs), expected, first)
