"""The tasks of a runner: which tasks of a grid the store lacks, who has claimed them, and how they end.

The runner makes picklable jobs of them. A job writes rows, encoders and failures into the store. A job that outlives
its runner (`RemoteJob`), e.g. on a cluster, claims its tasks itself, and its results are read from the store.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

import torch
from threadpoolctl import threadpool_limits

from benchmark.config.config import Config
from benchmark.config.refuse import with_settings
from benchmark.data.prepare import Prepared
from benchmark.machine.device import Machine
from benchmark.results.names import CARD, ERROR, is_frozen
from benchmark.results.store import BadCard, CorruptRow, End, Failure, Store
from benchmark.run.cell import CellJob, run_together, source_facts
from benchmark.run.claims import CLAIMS, Claims, Sight, Watched
from benchmark.run.grid import Cell, Grid, Pretraining, task_name
from benchmark.run.local import Start, Tell
from benchmark.run.pretraining import PretrainingJob, run_to_end
from benchmark.training.checkpoint import checked_card, other_encoder


@dataclass(frozen=True)
class ProgressCallbacks:
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

    def told(self, news: str | tuple[str, int, int, str]) -> None:
        """Pass on what an engine or a running job reports."""
        if isinstance(news, str):
            self.note(news)
        else:
            self.inner(*news)


def quiet(*said: object) -> None:
    """A callback without effect."""


NO_PROGRESS = ProgressCallbacks(quiet, quiet, quiet, quiet, quiet, quiet, quiet)
"""Callbacks without effect."""


@dataclass(frozen=True)
class RunContext:
    """The values that all tasks of a runner share."""

    config: Config
    prepared: Mapping[str, Prepared]
    """Name of the corpus or of a column -> its prepared data."""
    store: Store
    machine: Machine
    watch: ProgressCallbacks
    events: Path | None = None
    """Folder for a folder of TensorBoard events per pretraining; None: none are written."""


def folders_of(setup: RunContext) -> dict[str, Path]:
    """Name of the corpus or of a column -> folder of its prepared data."""
    return {name: data.folder for name, data in setup.prepared.items()}


Failed = tuple[int, int] | None
"""Time and inode of a failure's file; None if there is none."""


def is_made(pretraining: Pretraining, store: Store) -> bool:
    """Whether a pretraining's encoder is stored. Raises BadCard where a file is damaged or of another pretraining."""
    folder = store.pretrained / pretraining.key
    card = checked_card(folder)
    if card is None:
        return False
    if problem := other_encoder(card["encoder"], pretraining.content["encoder"]):
        raise BadCard(f"{folder / CARD}: {problem}")
    return True


def is_finished(task: Pretraining | Cell, store: Store, damaged: list[str] | None = None) -> bool:
    """Whether a task's result is stored whole; a line on a damaged one is appended to `damaged`."""
    try:
        return is_made(task, store) if isinstance(task, Pretraining) else store.load_row(task.key) is not None
    except (BadCard, CorruptRow) as error:
        if damaged is not None:
            damaged.append(str(error))
        return False


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


def has_failed(task: Pretraining | Cell, before: Mapping[str, Failed], store: Store) -> bool:
    """Whether a task has failed since `before`, the failures by key, was read."""
    return failed(failure_file(task, store)) not in (None, before.get(task.key))


def failure_of(task: Pretraining | Cell, store: Store) -> Failure:
    """The stored failure of a task."""
    return store.failures([task.key])[task.key]


def because(pretraining: Failure) -> Failure:
    """The failure of a cell whose pretraining has failed."""
    return Failure(f"its pretraining failed: {pretraining.error}", pretraining.traceback)


def save_failure(task: Pretraining | Cell, failure: Failure, store: Store) -> Path:
    """Store a task's failure; returns its file."""
    save = store.save_failure if isinstance(task, Cell) else store.save_pretraining_failure
    return save(task.key, task_name(task), failure.error, failure.traceback)


Job = PretrainingJob | tuple[CellJob, ...]
"""The work of one process: a pretraining, or cells that share an encoder."""


def configs_of(config: Config, tasks: Iterable[Pretraining | Cell]) -> dict[str, Config]:
    """Name of each row of some tasks -> its config."""
    variants = {task.variant.name: task.variant for task in tasks}
    return {name: with_settings(config, variant.settings) for name, variant in variants.items()}


def pretraining_job(task: Pretraining, configs: Mapping[str, Config], setup: RunContext) -> PretrainingJob:
    """The job of a pretraining, whose encoder goes to the store; `configs`: of the rows (`configs_of`)."""
    machine = setup.machine
    config, folder = configs[task.variant.name], setup.store.pretrained / task.key
    return PretrainingJob(task, config, folders_of(setup), folder, str(machine.device), machine.precision, setup.events)


def cell_jobs(cells: Iterable[Cell], configs: Mapping[str, Config], setup: RunContext) -> list[tuple[CellJob, ...]]:
    """The jobs of some cells, those that run in one process together."""
    return [tuple(cell_job(cell, configs, setup) for cell in group) for group in groups_of(cells)]


def cell_job(cell: Cell, configs: Mapping[str, Config], setup: RunContext) -> CellJob:
    """The job of a cell, with the facts of the corpus if its encoder was trained."""
    machine = setup.machine
    trained = cell.pretraining and cell.pretraining.method.trains
    corpus = source_facts(setup.prepared[setup.config.data.pretrain]) if trained else {}
    config, folder = configs[cell.variant.name], setup.prepared[cell.dataset].folder
    return CellJob(cell, config, folder, setup.store.root, str(machine.device), machine.precision, corpus)


def run_job(job: Job, tell: Tell) -> list[End]:
    """Run a job; tell: called with the steps of a pretraining (`ProgressCallbacks.inner`)."""
    if not isinstance(job, PretrainingJob):
        return run_together(job)
    name = task_name(job.task)
    return [run_to_end(job, lambda done, total, text: tell((name, done, total, text)))]


def tasks_of(job: Job) -> list[Pretraining | Cell]:
    """The tasks of a job."""
    return [job.task] if isinstance(job, PretrainingJob) else [own.cell for own in job]


def name_of(job: Job) -> str:
    """Name of a job in the progress display: that of its first task."""
    return task_name(tasks_of(job)[0])


def killed(job: Job, error: Exception, store: Store) -> list[End]:
    """Outcomes of a job whose process was killed; what was stored before counts as done."""
    failure = Failure.of(error)
    return [End(task.key, 0.0, None if is_finished(task, store) else failure) for task in tasks_of(job)]


def groups_of(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells grouped by process: probes of one encoder on one dataset together, every other cell alone."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        is_probe = is_frozen(cell.evaluation)
        groups.setdefault((cell.pretrain_key, cell.dataset) if is_probe else (cell.key, ""), []).append(cell)
    return list(groups.values())


@dataclass(frozen=True)
class Work:
    """The part of a grid that is missing from the store."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    """One line per damaged row or pretraining, which is recomputed."""


def missing(grid: Grid, store: Store) -> Work:
    """Cells without an intact row, and the pretrainings they need that are not stored."""
    damaged: list[str] = []
    cells = [cell for cell in grid.cells if not is_finished(cell, store, damaged)]
    needed = {cell.pretraining.key: cell.pretraining for cell in cells if cell.pretraining}
    pretrainings = tuple(own for own in needed.values() if not is_finished(own, store, damaged))
    return Work(grid, pretrainings, tuple(in_turn(cells)), tuple(damaged))


def in_turn(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, in the order of work: dataset by dataset, of each the compared rows before the gates.

    So the first column of a table can be read early. A cell that is a gate in one table and compared in another counts
    as compared.
    """
    unique: dict[str, Cell] = {}
    for cell in cells:
        if not (cell.gate and cell.key in unique):
            unique[cell.key] = cell
    datasets = {name: place for place, name in enumerate(dict.fromkeys(cell.dataset for cell in unique.values()))}
    return sorted(unique.values(), key=lambda cell: (datasets[cell.dataset], bool(cell.gate)))


@dataclass
class OpenTasks:
    """The unfinished tasks by key, the claims by which runners share them, and the number of failed tasks."""

    tasks: dict[str, Pretraining | Cell]
    """Pretrainings first."""
    failed_before: dict[str, Failed]
    """Failures stored before this run, whose tasks are tried again. A newer one is of another runner."""
    claims: Claims
    failures: int = 0

    @property
    def pretrainings(self) -> list[Pretraining]:
        """The pretrainings that are not finished."""
        return [task for task in self.tasks.values() if isinstance(task, Pretraining)]

    @property
    def cells(self) -> list[Cell]:
        """The cells that are not finished."""
        return [task for task in self.tasks.values() if isinstance(task, Cell)]

    @property
    def ready(self) -> list[Cell]:
        """The cells whose encoder is there."""
        return [cell for cell in self.cells if cell.pretrain_key not in self.tasks]


def open_tasks_of(work: Work, store: Store, claims: Claims) -> OpenTasks:
    """The open tasks at the start: all of the missing work."""
    tasks: list[Pretraining | Cell] = [*work.pretrainings, *work.cells]
    failed_before = {task.key: failed(failure_file(task, store)) for task in tasks}
    return OpenTasks({task.key: task for task in tasks}, failed_before, claims)


def is_free(task: Pretraining | Cell, left: OpenTasks, setup: RunContext) -> bool:
    """Whether the task is this runner's: claimed, and neither finished nor failed by another runner meanwhile."""
    store = setup.store
    if not left.claims.take(task.key):
        return False
    if is_finished(task, store):
        setup.watch.elsewhere(task_name(task))
        finish(task, left)
    elif has_failed(task, left.failed_before, store):
        give_up(task, failure_of(task, store), left, setup)
    else:
        return True
    return False


def finish(task: Pretraining | Cell, left: OpenTasks) -> None:
    """Remove a task from the open tasks, and release its claim."""
    del left.tasks[task.key]
    left.claims.release(task.key)


def give_up(task: Pretraining | Cell, failure: Failure, left: OpenTasks, setup: RunContext) -> None:
    """Count a stored failure and remove its task; the cells of a failed pretraining fail too."""
    left.failures += 1
    place = f"; traceback in {failure_file(task, setup.store)}" if failure.traceback else ""
    setup.watch.failed(task_name(task), f"{failure.line}{place}")
    finish(task, left)
    for cell in [cell for cell in left.cells if cell.pretrain_key == task.key]:
        save_failure(cell, because(failure), setup.store)
        left.failures += 1
        setup.watch.failed(task_name(cell), because(failure).line)
        del left.tasks[cell.key]


def settle(end: End, left: OpenTasks, setup: RunContext, *, stored: bool) -> None:
    """Remove a task that has ended from the open tasks. stored: its failure is in the store already."""
    task, failure = left.tasks[end.key], end.failure
    if failure is None:
        setup.watch.finished(task_name(task), end.seconds if isinstance(task, Cell) and not stored else None)
        finish(task, left)
        return
    if not stored:
        save_failure(task, failure, setup.store)
    give_up(task, failure, left, setup)


def store_time(folder: Path) -> int | None:
    """The time of the file system that a folder is on, ns, by which claims are renewed; None if it takes no file."""
    try:
        with TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None


def seconds_since_heartbeat(sight: Sight, now: int | None) -> float:
    """Seconds since a claim was renewed; 0 where the time of its file system is not known."""
    return (now - sight.renewed) / 1e9 if now is not None else 0.0


CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("benchmark", "methods")
WITHOUT = (
    "benchmark/cli/",
    "benchmark/screen.py",
    "benchmark/config/engines.py",
    "benchmark/run/local.py",
    "benchmark/extras/",
)
"""Code that cannot change a result."""


def read_digests(checkout: Path = CHECKOUT) -> dict[str, str]:
    """File of the code that can change a result -> digest of its content."""
    files = sorted(path for package in PACKAGES for path in (checkout / package).rglob("*.py"))
    names = {path.relative_to(checkout).as_posix(): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for name, path in names.items()
        if not name.startswith(WITHOUT)
    }


@lru_cache(maxsize=1)
def digests_of_code() -> dict[str, str]:
    """`read_digests` of this process's checkout when it was first asked for."""
    return read_digests()


def refuse_other_code(before: Mapping[str, str], checkout: Path = CHECKOUT) -> None:
    """Raise ValueError in one line if a file of the code is not as it was."""
    now = read_digests(checkout)
    edited = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if edited:
        more = f" and {len(edited) - 1} more" if len(edited) > 1 else ""
        raise ValueError(
            f"{edited[0]}{more} has been edited since this job was submitted; the same command submits it as it is now"
        )


LATE_SECONDS = 60.0
"""Most that a shared folder takes to show a file that another host has written."""
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class RemoteJob:
    """The function that runs a job in a process which outlives the runner; picklable."""

    results: Path
    failed_before: Mapping[str, Failed]
    """Earlier failures, which are tried again."""
    code: Mapping[str, str]
    """The code that the job was submitted with (`digests_of_code`)."""
    cell_threads: int | None = 1
    """Threads of a cell; None, as for a pretraining: those that its process was started with."""
    late_seconds: float = LATE_SECONDS
    seen: dict[str, Watched] = field(default_factory=dict, compare=False)
    """Claims of others, watched over the calls of one process, so that one of a dead host is taken over."""

    def __call__(self, job: Job, tell: Tell) -> list[End] | Start:
        """Run the unclaimed tasks of a job; Start.LATER if another runner holds some, or an encoder is missing."""
        store = Store(self.results)
        with Claims(store.root / CLAIMS, seen=self.seen) as claims:
            mine = [task for task in tasks_of(job) if self._is_open(task, store) and claims.take(task.key)]
            mine = [task for task in mine if self._is_open(task, store)]  # ended while it was being claimed
            try:
                if mine:
                    refuse_other_code(self.code)
                    refuse_unseen(job)
                ready = self._with_encoder(mine, store)
            except Exception as error:
                for task in mine:
                    save_failure(task, Failure(f"{type(error).__name__}: {error}"), store)
                return []
            tasks = {task.key: task for task in ready}
            for end in self._run(narrowed(job, tasks), tell) if tasks else ():
                if end.failure:
                    save_failure(tasks[end.key], end.failure, store)
            left = [task for task in tasks_of(job) if self._is_open(task, store)]
        return Start.LATER if left else []  # the ends are in the store

    def _run(self, job: Job, tell: Tell) -> list[End]:
        if isinstance(job, PretrainingJob) or self.cell_threads is None:
            return run_job(job, tell)
        before = torch.get_num_threads()
        torch.set_num_threads(self.cell_threads)
        try:
            with threadpool_limits(self.cell_threads):
                return run_job(job, tell)
        finally:
            torch.set_num_threads(before)

    def _is_open(self, task: Pretraining | Cell, store: Store) -> bool:
        """Whether a task is neither finished nor failed since the job was submitted."""
        return not has_failed(task, self.failed_before, store) and not is_finished(task, store)

    def _with_encoder(self, tasks: list[Pretraining | Cell], store: Store) -> list[Pretraining | Cell]:
        """The tasks whose encoder is stored, waiting for slow file systems; those of a failed pretraining fail."""
        ready = []
        until = time.monotonic() + self.late_seconds
        for task in tasks:
            needed = task.pretraining if isinstance(task, Cell) else None
            while needed and not is_made(needed, store) and time.monotonic() < until:
                if has_failed(needed, self.failed_before, store):
                    break
                time.sleep(LOOK_SECONDS)
            if needed is None or is_made(needed, store):
                ready.append(task)
            elif has_failed(needed, self.failed_before, store):
                save_failure(task, because(failure_of(needed, store)), store)
        return ready


def narrowed(job: Job, keys: Collection[str]) -> Job:
    """The job reduced to the tasks of some keys."""
    return job if isinstance(job, PretrainingJob) else tuple(own for own in job if own.cell.key in keys)


def refuse_unseen(job: Job) -> None:
    """Raise FileNotFoundError in one line if this host does not see the prepared data of a job."""
    folders = job.prepared.values() if isinstance(job, PretrainingJob) else [own.prepared for own in job]
    for folder in folders:
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{socket.gethostname()} does not see the prepared data {folder}: put --cache on a folder that all "
                "nodes share, and run the same command again"
            )
