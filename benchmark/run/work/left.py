"""What is left of a runner's work: which tasks are its own to do, and what follows from how they end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmark.results.failures import End, Failure
from benchmark.results.store import Store
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.run.work.claims import Claims
from benchmark.run.work.missing import Work
from benchmark.run.work.setup import Setup
from benchmark.run.work.stored import Failed, failed, failure_file, is_finished, save_failure


@dataclass
class Left:
    """The missing work that is not finished, by key, the claims by which it is shared, and the number of failures."""

    pretrainings: dict[str, Pretraining]
    cells: dict[str, Cell]
    failed_before: dict[str, Failed]
    """Earlier failures, which are tried again; a later one is of a runner beside this one."""
    claims: Claims
    failures: int = 0

    def count(self) -> int:
        """The number of tasks that are not finished."""
        return len(self.pretrainings) + len(self.cells)

    def task(self, key: str) -> Pretraining | Cell:
        """The task of a key."""
        return self.cells[key] if key in self.cells else self.pretrainings[key]

    def has(self, task: Pretraining | Cell) -> bool:
        """Whether a task is not finished."""
        return task.key in (self.cells if isinstance(task, Cell) else self.pretrainings)

    def ready(self) -> list[Cell]:
        """The cells whose encoder is there."""
        return [cell for cell in self.cells.values() if cell.pretrain_key not in self.pretrainings]


def left_of(work: Work, store: Store, claims: Claims) -> Left:
    """All of some missing work, before any of it is done."""
    tasks: list[Pretraining | Cell] = [*work.pretrainings, *work.cells]
    failed_before = {task.key: failed(failure_file(task, store)) for task in tasks}
    pretrainings = {task.key: task for task in work.pretrainings}
    return Left(pretrainings, {cell.key: cell for cell in work.cells}, failed_before, claims)


def claimed(task: Pretraining | Cell) -> tuple[str, ...]:
    """Keys that a runner claims for a task: its own, and that of a stem, which other tasks need too."""
    return (task.key, task.stem) if isinstance(task, Pretraining) and task.stem else (task.key,)


def take(task: Pretraining | Cell, claims: Claims) -> bool:
    """Claim a task, whole or not at all."""
    keys = claimed(task)
    taken = [key for key in keys if claims.take(key)]
    if len(taken) < len(keys):
        release(taken, claims)
    return len(taken) == len(keys)


def release(keys: Iterable[str], claims: Claims) -> None:
    """Give up some claims."""
    for key in keys:
        claims.release(key)


def is_free(task: Pretraining | Cell, left: Left, setup: Setup) -> bool:
    """Whether the task is this runner's: claimed, and neither finished nor failed by another runner meanwhile."""
    store = setup.store
    if not take(task, left.claims):
        return False
    if is_finished(task, store):
        setup.watch.elsewhere(task_name(task))
        finish(task, left)
    elif (now := failed(failure_file(task, store))) is not None and now != left.failed_before[task.key]:
        give_up(task, store.failures([task.key])[task.key], left, setup)
    else:
        return True
    return False


def finish(task: Pretraining | Cell, left: Left) -> None:
    """Take a task off what is left, and release its claim."""
    if isinstance(task, Cell):
        del left.cells[task.key]
    else:
        del left.pretrainings[task.key]
    release(claimed(task), left.claims)


def give_up(task: Pretraining | Cell, failure: Failure, left: Left, setup: Setup) -> None:
    """Count a stored failure; the cells of a failed pretraining fail with it."""
    left.failures += 1
    setup.watch.failed(task_name(task), where_to_look(task, failure, setup.store))
    finish(task, left)
    if isinstance(task, Cell):
        return
    own = Failure(f"its pretraining failed: {failure.error}", failure.traceback)
    for cell in [cell for cell in left.cells.values() if cell.pretrain_key == task.key]:
        save_failure(cell, own, setup.store)
        left.failures += 1
        setup.watch.failed(task_name(cell), own.line)
        del left.cells[cell.key]


def settle(end: End, left: Left, setup: Setup, *, stored: bool) -> None:
    """Take a task that has ended off what is left; its failure is stored unless it is so already."""
    task, failure = left.task(end.key), end.failure
    if failure is None:
        setup.watch.finished(task_name(task), end.seconds if isinstance(task, Cell) and not stored else None)
        setup.watch.stored(task.key)
        finish(task, left)
        return
    if not stored:
        save_failure(task, failure, setup.store)
    give_up(task, failure, left, setup)


def where_to_look(task: Pretraining | Cell, failure: Failure, store: Store) -> str:
    """A failure in one line, with the file of its traceback."""
    return f"{failure.line}; traceback in {failure_file(task, store)}" if failure.traceback else failure.line
