"""Do what is missing of a grid: pretrain once per key, evaluate, store.

Several runners on one store share the work by claims: each does what is free, and at the end waits for the others.
Under torchrun all ranks pretrain together, one pretraining after the other, and then each is a runner for the cells.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared, opened
from benchmark.data.prepared.trials import trials
from benchmark.machine.ranks import is_alone, lead, own_device, read_ranks
from benchmark.results.failures import End, Failure
from benchmark.results.store import Store
from benchmark.run.apart.attempt import Attempt
from benchmark.run.apart.code import digests_of_code
from benchmark.run.cell import source_facts
from benchmark.run.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.curves.points import Point
from benchmark.run.engines.engine import Engine, Not, Order, Tell
from benchmark.run.engines.engine import Task as EngineTask
from benchmark.run.engines.local import Local
from benchmark.run.grid import Cell, Pretraining
from benchmark.run.jobs import (
    Failed,
    Job,
    Learned,
    cell_job,
    claimed,
    configs_of,
    failed,
    failure_file,
    groups_of,
    killed,
    name_of,
    pretraining_job,
    run_job,
    save_failure,
    tasks_of,
)
from benchmark.run.machine import Machine
from benchmark.run.missing import Work, is_finished, task_name
from benchmark.run.pretraining import PretrainingJob, in_step

Expected = Callable[[Pretraining | Cell], float]
"""Seconds that a task is expected to take."""


@dataclass(frozen=True)
class Watch:
    """Callbacks that report progress; tasks are named by `task_name`."""

    started: Callable[[str], None]
    inner: Callable[[str, int, int, str], None]
    finished: Callable[[str, float | None], None]
    """(name, seconds); None: measure from `started`."""
    failed: Callable[[str, str], None]
    elsewhere: Callable[[str], None]
    """A task that another runner has finished."""
    waiting: Callable[[str], None]
    """Called again and again while all that is left is with other runners."""
    note: Callable[[str], None]
    learned: Callable[[str, Sequence[Point]], None] = lambda key, points: None
    """(key, all points so far) of a running pretraining, after each epoch."""
    stored: Callable[[str], None] = lambda key: None
    """The key of a task that this runner has finished and still holds."""

    def told(self, news: Learned | tuple[str, int, int, str]) -> None:
        """What a running job tells."""
        if isinstance(news, Learned):
            self.learned(news.key, news.points)
        else:
            self.inner(*news)


@dataclass
class Left:
    """The missing work that is not finished, by key, and the number of failures."""

    pretrainings: dict[str, Pretraining]
    cells: dict[str, Cell]
    failed_before: dict[str, Failed]
    """Earlier failures, which are tried again; a later one is of a runner beside this one."""
    failures: int = 0

    def task(self, key: str) -> Pretraining | Cell:
        """The task of a key."""
        return self.cells[key] if key in self.cells else self.pretrainings[key]

    def has(self, task: Pretraining | Cell) -> bool:
        """Whether a task is not finished."""
        return task.key in (self.cells if isinstance(task, Cell) else self.pretrainings)

    def ready(self) -> list[Cell]:
        """The cells whose encoder is there."""
        return [cell for cell in self.cells.values() if cell.pretrain_key not in self.pretrainings]


def do(
    work: Work,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
    engine: Engine | None = None,
    expected: Expected = lambda task: 0.0,
) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest.

    Other runners on the store may do part of it; this one ends when all is done, under a detached engine when all is
    handed over. engine: None for this machine, `machine.jobs` jobs at a time.
    """
    engine = engine or Local(machine.jobs)
    tasks: list[Pretraining | Cell] = [*work.pretrainings, *work.cells]
    failed_before = {task.key: failed(failure_file(task, store)) for task in tasks}
    left = Left({task.key: task for task in work.pretrainings}, {cell.key: cell for cell in work.cells}, failed_before)
    configs = configs_of(config, tasks)
    lengths = {(cell.dataset, config.task_spec(configs[cell.variant.name].finetune).per_trial) for cell in work.cells}
    if work.pretrainings:
        lengths.add((config.data.pretrain, config.task_spec(config.pretrain).per_trial))
    for name, per_trial in lengths:  # made and verified here, so that the processes need not
        trials(prepared[name], per_trial)
    unshared = ""
    together, handed_out = in_ranks(machine), set[str]()
    with Claims(store.root / CLAIMS) as claims:
        while left.cells:
            before = len(left.pretrainings) + len(left.cells)
            if together:
                pretrain_in_step(left, claims, config, prepared, store, machine, watch)
                hand_out_cells(left, handed_out, work, config, prepared, store, machine)
            run_free(left, claims, config, prepared, store, machine, watch, engine, expected)
            if engine.detached:
                break
            if claims.unshared and not unshared:
                unshared = claims.unshared
                watch.note(f"warning: no claims ({unshared}): another runner on this store may do the same tasks")
            if left.cells and len(left.pretrainings) + len(left.cells) == before:
                open_tasks: list[Pretraining | Cell] = [*left.pretrainings.values(), *left.ready()]
                keys = {key for task in open_tasks for key in claimed(task)}
                holders = Counter(map(claims.holder, keys))
                watch.waiting(waiting_line(holders))
                time.sleep(POLL_SECONDS)
    return left.failures


def pretrain_in_step(
    left: Left,
    claims: Claims,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> None:
    """Do the pretrainings that are free, each in all ranks at once."""
    tasks = list(left.pretrainings.values())
    folders = {name: data.folder for name, data in prepared.items()}
    for job in [pretraining_job(task, configs_of(config, tasks), folders, store, machine) for task in tasks]:
        if is_free(job.task, left, claims, store, watch):
            watch.started(name_of(job))
            if job.ranks > 1:
                lead(in_step, job)
            for end in run_job(job, watch.told):
                settle(end, left, claims, store, watch, stored=False)


def hand_out_cells(
    left: Left,
    handed_out: set[str],
    work: Work,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
) -> None:
    """Make every other rank a runner for the cells whose encoder is there, and which were not handed out before."""
    cells = [cell for cell in left.ready() if cell.key not in handed_out]
    if cells:
        handed_out.update(cell.key for cell in cells)
        folders = {name: data.folder for name, data in prepared.items()}
        lead(do_cells, replace(work, pretrainings=(), cells=tuple(cells)), config, folders, store.root, machine)


def do_cells(work: Work, config: Config, folders: Mapping[str, Path], results: Path, machine: Machine) -> None:
    """Share cells with the other ranks, without a word: what fails is stored, and the first rank tells."""
    prepared = {name: opened(folder) for name, folder in folders.items()}
    own = replace(machine, device=own_device(machine.device, read_ranks()), ranks=1)
    do(work, config, prepared, Store(results), own, Watch(quiet, quiet, quiet, quiet, quiet, quiet, quiet))


def quiet(*said: object) -> None:
    """Hears and says nothing."""


def in_ranks(machine: Machine) -> bool:
    """Whether this process is the first of the ranks that pretrain together, which do what it hands out."""
    return machine.ranks > 1 and not is_alone()


def waiting_line(holders: Mapping[str, int]) -> str:
    """'waiting for 2 tasks of host:pid, 1 of host:pid', from the number of tasks by holder."""
    words = ", ".join(f"{count} of {holder}" for holder, count in sorted(holders.items()) if holder)
    return f"waiting for the tasks of other runners: {words}"


def is_free(task: Pretraining | Cell, left: Left, claims: Claims, store: Store, watch: Watch) -> bool:
    """Whether the task is this runner's: claimed, and neither finished nor failed by another runner meanwhile."""
    keys = claimed(task)
    taken = [key for key in keys if claims.take(key)]
    if len(taken) < len(keys):
        release(taken, claims)
        return False
    file = failure_file(task, store)
    if is_finished(task, store):
        watch.elsewhere(task_name(task))
        finish(task, left, claims)
    elif (now := failed(file)) is not None and now != left.failed_before[task.key]:
        give_up(task, store.failures([task.key])[task.key], file, left, claims, store, watch)
    else:
        return True
    return False


def finish(task: Pretraining | Cell, left: Left, claims: Claims) -> None:
    """Take a task off what is left, and release its claim."""
    if isinstance(task, Cell):
        del left.cells[task.key]
    else:
        del left.pretrainings[task.key]
    release(claimed(task), claims)


def release(keys: Iterable[str], claims: Claims) -> None:
    """Give up some claims."""
    for key in keys:
        claims.release(key)


def give_up(
    task: Pretraining | Cell, failure: Failure, file: Path, left: Left, claims: Claims, store: Store, watch: Watch
) -> None:
    """Count a stored failure; the cells of a failed pretraining fail with it."""
    left.failures += 1
    watch.failed(task_name(task), where_to_look(failure, file))
    finish(task, left, claims)
    if isinstance(task, Cell):
        return
    own = Failure(f"its pretraining failed: {failure.error}", failure.traceback)
    for cell in [cell for cell in left.cells.values() if cell.pretrain_key == task.key]:
        store.save_failure(cell.key, cell.describe(), own.error, own.traceback)
        left.failures += 1
        watch.failed(cell.describe(), own.line)
        del left.cells[cell.key]


def run_free(
    left: Left,
    claims: Claims,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
    engine: Engine,
    expected: Expected,
) -> None:
    """Run what is free: pretrainings first, each cell as soon as its own encoder is there."""
    tasks: list[Pretraining | Cell] = [*left.pretrainings.values(), *left.cells.values()]
    configs = configs_of(config, tasks)
    folders = {name: data.folder for name, data in prepared.items()}
    corpus = source_facts(prepared[config.data.pretrain])
    own: Iterable[Pretraining] = left.pretrainings.values()
    cells: Iterable[Cell] = left.cells.values()
    if in_ranks(machine):  # these have done what is free
        own, cells = (), left.ready()
    pretrainings = [pretraining_job(task, configs, folders, store, machine) for task in own]
    groups = groups_of([cell_job(cell, configs, folders, store, machine, corpus) for cell in cells])
    abreast = machine.abreast(sum(job.task.method.trains for job in pretrainings))
    threads = machine.pretraining_threads(abreast)
    jobs: list[Job] = [*pretrainings, *groups]
    function: Callable[[Job, Tell], list[End] | Not | None] = run_job
    if engine.apart:
        function = attempt_of(left, store, machine)
    order: Order[Job, list[End]] = Order(
        [engine_task(job, expected) for job in jobs],
        function,
        threads=lambda task: threads if task.whole else machine.cell_threads(),
        abreast=machine.abreast_on_a_device(abreast),
        begin=lambda task: begin(task, left, claims, store, watch, keep=not engine.apart),
        found=lambda task: found(task.work, left, store),
        on_start=lambda task: watch.started(name_of(task.work)),
        on_told=lambda news: watch.note(news) if isinstance(news, str) else watch.told(news),
    )
    with closing(engine.run(order)) as ends:
        for ended in ends:
            outcomes = killed(ended.task.work, ended.error, store) if ended.error else ended.result or []
            for end in outcomes:
                settle(end, left, claims, store, watch, stored=engine.apart and not ended.error)


def attempt_of(left: Left, store: Store, machine: Machine) -> Attempt:
    """The function of engines whose tasks run apart."""
    threads = machine.cell_threads() if machine.device.type == "cpu" else None
    return Attempt(store.root.resolve(), left.failed_before, digests_of_code(), threads)


def engine_task(job: Job, expected: Expected) -> EngineTask[Job]:
    """A job as engines know it: a cell waits for its own pretraining, and for no other."""
    first, *_ = tasks_of(job)
    after = first.pretrain_key if isinstance(first, Cell) else ""
    seconds = sum(map(expected, tasks_of(job)))
    keys = tuple(task.key for task in tasks_of(job))
    return EngineTask(first.key, name_of(job), job, after, seconds, isinstance(job, PretrainingJob), keys)


def begin(
    task: EngineTask[Job], left: Left, claims: Claims, store: Store, watch: Watch, *, keep: bool
) -> EngineTask[Job] | Not:
    """What of an engine's task is to be done by this runner, which claims it; without `keep` the task's process will.

    Not.YET: other runners hold what is left of it; Not.EVER: nothing is left.
    """
    open_tasks = [own for own in tasks_of(task.work) if left.has(own)]
    free = {own.key for own in open_tasks if is_free(own, left, claims, store, watch)}
    if not keep:
        release([key for own in open_tasks if own.key in free for key in claimed(own)], claims)
    if not free:
        return Not.YET if any(map(left.has, open_tasks)) else Not.EVER
    if isinstance(task.work, PretrainingJob):
        return task
    own = tuple(own for own in task.work if own.cell.key in free)
    return replace(task, work=own, parts=tuple(job.cell.key for job in own))


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


def settle(end: End, left: Left, claims: Claims, store: Store, watch: Watch, *, stored: bool) -> None:
    """Take a task that has ended off what is left; its failure is stored unless it is so already."""
    task = left.task(end.key)
    name, failure = task_name(task), end.failure
    if failure is None:
        watch.finished(name, end.seconds if isinstance(task, Cell) and not stored else None)
        watch.stored(task.key)
        finish(task, left, claims)
        return
    file = failure_file(task, store) if stored else save_failure(task, failure, store)
    give_up(task, failure, file, left, claims, store, watch)


def where_to_look(failure: Failure, file: Path) -> str:
    """A failure in one line, with the file of its traceback."""
    return f"{failure.line}; traceback in {file}" if failure.traceback else failure.line
