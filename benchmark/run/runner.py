"""Do what is missing of a grid: pretrain once per key, evaluate, store.

Several runners on one store share the work by claims: each does what is free, and at the end waits for the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.results.failures import Failure
from benchmark.results.names import ERROR, LINEAR
from benchmark.results.store import Store
from benchmark.run.cell import CellEnd, CellJob, run_together, source_facts
from benchmark.run.claims import CLAIMS, POLL_SECONDS, Claims
from benchmark.run.engines.local import run_tasks
from benchmark.run.grid import Cell, Pretraining
from benchmark.run.machine import Machine
from benchmark.run.missing import Work, is_finished, task_name
from benchmark.run.pretraining import PretrainingJob, run_pretraining


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
    cut = {(cell.dataset, configs[cell.variant.name].finetune) for cell in work.cells}
    for name, stage in cut:  # made and verified here, so that the processes need not
        trials(prepared[name], config.task_spec(stage).per_trial)
    unshared = ""
    with Claims(store.root / CLAIMS) as claims:
        while left.cells:
            before = len(left.pretrainings) + len(left.cells)
            run_pretrainings(left, claims, config, prepared, store, machine, watch)
            run_cells(left, claims, config, prepared, store, machine, watch)
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


def configs_of(config: Config, tasks: Iterable[Pretraining | Cell]) -> dict[str, Config]:
    """Name of each row of some tasks -> its config."""
    variants = {task.variant.name: task.variant for task in tasks}
    return {name: with_settings(config, variant.settings) for name, variant in variants.items()}


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


def run_pretrainings(
    left: Left,
    claims: Claims,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> None:
    """Run the free pretrainings in turn."""
    device, precision, compiled = machine.device, machine.precision, machine.compiled
    configs = configs_of(config, left.pretrainings.values())
    for pretraining in list(left.pretrainings.values()):
        if not begin(pretraining, left, claims, store, watch):
            continue
        name = task_name(pretraining)
        watch.started(name)
        folder = store.pretrained / pretraining.key
        try:
            own = configs[pretraining.variant.name]
            job = PretrainingJob(pretraining, own, prepared, folder, device, precision, compiled)
            run_pretraining(job, partial(watch.inner, name))
        except Exception as error:
            failure = Failure.of(error)
            file = store.save_pretraining_failure(pretraining.key, name, failure.error, failure.traceback)
            give_up(pretraining, failure, file, left, claims, store, watch)
        else:
            watch.finished(name, None)
            finish(pretraining, left, claims)


def run_cells(
    left: Left,
    claims: Claims,
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> None:
    """Run the free cells whose encoder is there, `machine.jobs` at a time."""
    device, precision, threads = str(machine.device), machine.precision, machine.cell_threads()
    corpus = source_facts(prepared[config.data.pretrain])
    ready = {cell.key: cell for cell in left.ready()}
    configs = configs_of(config, ready.values())
    groups = groups_of(
        [
            CellJob(
                cell,
                configs[cell.variant.name],
                prepared[cell.dataset].folder,
                store.root,
                device,
                precision,
                corpus if cell.pretraining and cell.pretraining.method.trains else {},
            )
            for cell in ready.values()
        ]
    )

    def free() -> Iterator[tuple[CellJob, ...]]:
        for group in groups:
            own = tuple(job for job in group if begin(job.cell, left, claims, store, watch))
            if own:
                yield own

    def started(group: Sequence[CellJob]) -> None:
        watch.started(task_name(group[0].cell))

    jobs = min(machine.jobs, len(groups))
    with closing(run_tasks(run_together, free(), jobs=jobs, threads=threads, on_start=started)) as tasks:
        for ended in tasks:
            for end in killed(ended.task, ended.error, store) if ended.error else ended.result or []:
                cell = ready[end.key]
                if end.failure is None:
                    watch.finished(task_name(cell), end.seconds)
                    finish(cell, left, claims)
                else:
                    file = store.save_failure(end.key, task_name(cell), end.failure.error, end.failure.traceback)
                    give_up(cell, end.failure, file, left, claims, store, watch)


def where_to_look(failure: Failure, file: Path) -> str:
    """A failure in one line, with the file of its traceback."""
    return f"{failure.line}; traceback in {file}" if failure.traceback else failure.line


def killed(jobs: Sequence[CellJob], error: Exception, store: Store) -> list[CellEnd]:
    """Outcomes of a group whose process was killed; cells that were stored before count as done."""
    failure = Failure.of(error)
    return [CellEnd(job.cell.key, 0.0, None if is_finished(job.cell, store) else failure) for job in jobs]


def groups_of(jobs: Sequence[CellJob]) -> list[tuple[CellJob, ...]]:
    """Groups of cells that run in one process: linear probes by encoder and dataset, every other cell alone."""
    groups: dict[tuple[str, str], list[CellJob]] = {}
    for job in jobs:
        cell = job.cell
        together = (cell.pretrain_key, cell.dataset) if cell.evaluation == LINEAR else (cell.key, "")
        groups.setdefault(together, []).append(job)
    return [tuple(group) for group in groups.values()]
