"""Do what is missing of a grid: pretrain once per key, evaluate, store.

Several runners on one store share the work by claims: each does what is free, and at the end waits for the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.results.failures import End, Failure
from benchmark.results.names import ERROR
from benchmark.results.store import Store
from benchmark.run.cell import source_facts
from benchmark.run.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.curves.points import Point
from benchmark.run.engines.local import Engine, run_tasks
from benchmark.run.grid import Cell, Pretraining
from benchmark.run.jobs import Job, Learned, cell_job, configs_of, groups_of, killed, name_of, pretraining_job, run_job
from benchmark.run.machine import Machine
from benchmark.run.missing import Work, is_finished, task_name
from benchmark.run.pretraining import PretrainingJob


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


Failed = tuple[int, int] | None
"""Time and inode of a failure's file; None if there is none."""


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

    def ready(self) -> list[Cell]:
        """The cells whose encoder is there."""
        return [cell for cell in self.cells.values() if cell.pretrain_key not in self.pretrainings]


def do(
    work: Work, config: Config, prepared: Mapping[str, Prepared], store: Store, machine: Machine, watch: Watch
) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest.

    Other runners on the store may do part of it; this one ends when all is done.
    """
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
    with Claims(store.root / CLAIMS) as claims:
        while left.cells:
            before = len(left.pretrainings) + len(left.cells)
            run_free(left, claims, config, prepared, store, machine, watch)
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


def claimed(task: Pretraining | Cell) -> tuple[str, ...]:
    """Keys that a runner claims for a task: its own, and that of a stem, which other tasks need too."""
    return (task.key, task.stem) if isinstance(task, Pretraining) and task.stem else (task.key,)


def waiting_line(holders: Mapping[str, int]) -> str:
    """'waiting for 2 tasks of host:pid, 1 of host:pid', from the number of tasks by holder."""
    words = ", ".join(f"{count} of {holder}" for holder, count in sorted(holders.items()) if holder)
    return f"waiting for the tasks of other runners: {words}"


def failure_file(task: Pretraining | Cell, store: Store) -> Path:
    """Where a task's failure is stored."""
    return store.failure_file(task.key) if isinstance(task, Cell) else store.pretrained / task.key / ERROR


def failed(file: Path) -> Failed:
    """Time and inode of a failure's file."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino


def begin(task: Pretraining | Cell, left: Left, claims: Claims, store: Store, watch: Watch) -> bool:
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
) -> None:
    """Run what is free, `machine.jobs` jobs at a time: pretrainings first, cells as soon as their encoder is there."""
    tasks: list[Pretraining | Cell] = [*left.pretrainings.values(), *left.cells.values()]
    configs = configs_of(config, tasks)
    folders = {name: data.folder for name, data in prepared.items()}
    corpus = source_facts(prepared[config.data.pretrain])
    pretrainings = [pretraining_job(task, configs, folders, store, machine) for task in left.pretrainings.values()]
    groups = groups_of([cell_job(cell, configs, folders, store, machine, corpus) for cell in left.cells.values()])
    abreast = machine.abreast(sum(job.task.method.trains for job in pretrainings))
    threads = machine.pretraining_threads(abreast)
    running: set[str] = set()

    def take() -> Job | None:
        free = [job for job in pretrainings if job.task.key in left.pretrainings] if len(running) < abreast else []
        for job in free:
            if begin(job.task, left, claims, store, watch):
                running.add(job.task.key)
                pretrainings.remove(job)
                return job
        while group := next((own for own in groups if own[0].cell.pretrain_key not in left.pretrainings), None):
            groups.remove(group)
            open_cells = [job for job in group if job.cell.key in left.cells]
            if own := tuple(job for job in open_cells if begin(job.cell, left, claims, store, watch)):
                return own
        return None

    engine: Engine[Job, list[End]] = Engine(
        run_job,
        take,
        threads=lambda job: threads if isinstance(job, PretrainingJob) else machine.cell_threads(),
        on_start=lambda job: watch.started(name_of(job)),
        on_told=watch.told,
    )
    with closing(run_tasks(engine, min(machine.jobs, len(pretrainings) + len(groups)))) as ends:
        for ended in ends:
            for end in killed(ended.task, ended.error, store) if ended.error else ended.result or []:
                running.discard(end.key)
                settle(end, left, claims, store, watch)


def settle(end: End, left: Left, claims: Claims, store: Store, watch: Watch) -> None:
    """Take a task that has ended off what is left; a failure is stored."""
    task = left.task(end.key)
    name, failure = task_name(task), end.failure
    if failure is None:
        watch.finished(name, end.seconds if isinstance(task, Cell) else None)
        watch.stored(task.key)
        finish(task, left, claims)
        return
    save = store.save_failure if isinstance(task, Cell) else store.save_pretraining_failure
    file = save(end.key, name, failure.error, failure.traceback)
    give_up(task, failure, file, left, claims, store, watch)


def where_to_look(failure: Failure, file: Path) -> str:
    """A failure in one line, with the file of its traceback."""
    return f"{failure.line}; traceback in {file}" if failure.traceback else failure.line
