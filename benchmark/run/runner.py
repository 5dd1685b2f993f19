"""Run a grid: find the missing cells, pretrain once per key, evaluate, store. Finished work is not repeated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.trials import trials
from benchmark.results.cards import BadCard, vouched
from benchmark.results.failures import Failure
from benchmark.results.names import CARD, LINEAR
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import CellEnd, CellJob, run_together, source_facts
from benchmark.run.engines.local import run_tasks
from benchmark.run.grid import Cell, Grid, Pretraining, expand
from benchmark.run.pretraining import PretrainingJob, run_pretraining
from benchmark.run.stored_keys import as_stored, stored_pretrainings
from benchmark.training.weights import checked_card

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Watch:
    """Callbacks that report progress; tasks are named by `task_name`."""

    started: Callable[[str], None]
    inner: Callable[[str, int, int, str], None]
    finished: Callable[[str, float | None], None]
    """(name, seconds); None: measure from `started`."""
    failed: Callable[[str, str], None]


@dataclass(frozen=True)
class Work:
    """The part of a grid that is missing from the store."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    """One line per damaged row or pretraining, which is recomputed."""


@dataclass(frozen=True)
class Machine:
    """Device, precision and concurrency of a run."""

    device: torch.device
    precision: str
    jobs: int
    """Concurrent cells."""
    compiled: bool = False
    """Pretrain with torch.compile."""

    def mode(self) -> dict[str, str | int]:
        """Properties of the machine that enter result keys: bits are equal within one mode, for equal threads."""
        mode: dict[str, str | int] = {"device": self.device.type, "precision": self.precision}
        return mode | ({"compiled": True} if self.compiled else {})

    def cell_threads(self) -> int:
        """Threads per cell process: one on a CPU, so that results do not depend on the number of cores."""
        return 1 if self.device.type == "cpu" else torch.get_num_threads()


def make_grid(config: Config, prepared: Mapping[str, Prepared], machine: Machine, store: Store | None = None) -> Grid:
    """The grid of a config on prepared data; pretrainings that `store` holds under an earlier form keep their key."""
    fingerprints = {name: prepared[name].fingerprint for name in config.data.datasets}
    form = partial(as_stored, stored=stored_pretrainings(store) if store else {})
    corpus = prepared[config.data.pretrain].fingerprint
    return expand(config, corpus=corpus, fingerprints=fingerprints, mode=machine.mode(), form=form)


def missing(grid: Grid, store: Store) -> Work:
    """Cells without an intact row, and the pretrainings they need that are not stored."""
    damaged: list[str] = []
    cells = []
    for cell in grid.cells:
        try:
            done = store.load_row(cell.key) is not None
        except CorruptRow as error:
            damaged.append(str(error))
            done = False
        if not done:
            cells.append(cell)
    needed = {cell.pretraining.key: cell.pretraining for cell in cells if cell.pretraining}
    pretrainings = []
    for pretraining in needed.values():
        try:
            done = is_made(pretraining, store)
        except BadCard as error:
            damaged.append(str(error))
            done = False
        if not done:
            pretrainings.append(pretraining)
    unique = {cell.key: cell for cell in cells}
    return Work(grid, tuple(pretrainings), tuple(unique.values()), tuple(damaged))


def is_made(pretraining: Pretraining, store: Store) -> bool:
    """Whether a pretraining's encoder is stored. Raises BadCard where a file is damaged or of another pretraining."""
    folder = store.pretrained / pretraining.key
    card = checked_card(folder)
    if card is None:
        return False
    if not vouched(card):
        if (card.get("method"), card.get("seed")) != (pretraining.method.name, pretraining.seed):
            raise BadCard(f"{folder / CARD}: this is the card of another pretraining")
        log.warning("%s was written before cards held their key: whose it is cannot be checked", folder / CARD)
    return True


def task_name(task: Pretraining | Cell) -> str:
    """Name of a task in the progress display."""
    if isinstance(task, Cell):
        return task.describe()
    return f"{task.variant.name} pretrain seed {task.seed}"


def do(
    work: Work, config: Config, prepared: Mapping[str, Prepared], store: Store, machine: Machine, watch: Watch
) -> int:
    """Run the missing work; returns the number of failed tasks. Failures are stored and do not stop the rest."""
    failed = run_pretrainings(work.pretrainings, config, prepared, store, machine, watch)
    possible = []
    for cell in work.cells:
        if cell.pretrain_key in failed:
            reason = failed[cell.pretrain_key]
            own = Failure(f"its pretraining failed: {reason.error}", reason.traceback)
            store.save_failure(cell.key, cell.describe(), own.error, own.traceback)
            watch.failed(cell.describe(), own.line)
        else:
            possible.append(cell)
    failures = len(work.cells) - len(possible) + len(failed)
    return failures + run_cells(possible, config, prepared, store, machine, watch)


def run_pretrainings(
    pretrainings: Sequence[Pretraining],
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> dict[str, Failure]:
    """Run pretrainings in turn; returns the failures by key."""
    failed: dict[str, Failure] = {}
    device, precision, compiled = machine.device, machine.precision, machine.compiled
    for pretraining in pretrainings:
        name = task_name(pretraining)
        watch.started(name)
        folder = store.pretrained / pretraining.key
        try:
            job = PretrainingJob(pretraining, config, prepared, folder, device, precision, compiled)
            run_pretraining(job, partial(watch.inner, name))
        except Exception as error:
            failure = failed[pretraining.key] = Failure.of(error)
            file = store.save_pretraining_failure(pretraining.key, name, failure.error, failure.traceback)
            watch.failed(name, where_to_look(failure, file))
        else:
            watch.finished(name, None)
    return failed


def run_cells(
    cells: Sequence[Cell],
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> int:
    """Run cells, `machine.jobs` at a time; returns the number of failures."""
    names = {cell.key: task_name(cell) for cell in cells}
    device, precision, threads = str(machine.device), machine.precision, machine.cell_threads()
    corpus = source_facts(prepared[config.data.pretrain])
    jobs = [
        CellJob(
            cell,
            config,
            prepared[cell.dataset].folder,
            store.root,
            device,
            precision,
            corpus if cell.pretraining and cell.pretraining.method.trains else {},
        )
        for cell in cells
    ]
    failures = 0
    for name in {cell.dataset for cell in cells}:  # made and verified here once, so that the processes need not
        trials(prepared[name], config.task_spec(config.finetune).per_trial)

    def started(group: Sequence[CellJob]) -> None:
        watch.started(names[group[0].cell.key])

    for ended in run_tasks(run_together, groups_of(jobs), jobs=machine.jobs, threads=threads, on_start=started):
        for end in killed(ended.task, ended.error, store) if ended.error else ended.result or []:
            name = names[end.key]
            if end.failure is None:
                watch.finished(name, end.seconds)
                continue
            failures += 1
            file = store.save_failure(end.key, name, end.failure.error, end.failure.traceback)
            watch.failed(name, where_to_look(end.failure, file))
    return failures


def where_to_look(failure: Failure, file: Path) -> str:
    """A failure in one line, with the file of its traceback."""
    return f"{failure.line}; traceback in {file}" if failure.traceback else failure.line


def killed(jobs: Sequence[CellJob], error: Exception, store: Store) -> list[CellEnd]:
    """Outcomes of a group whose process was killed; cells that were stored before count as done."""
    failure = Failure.of(error)
    return [CellEnd(job.cell.key, 0.0, None if store.load_row(job.cell.key) else failure) for job in jobs]


def groups_of(jobs: Sequence[CellJob]) -> list[tuple[CellJob, ...]]:
    """Groups of cells that run in one process: linear probes by encoder and dataset, every other cell alone."""
    groups: dict[tuple[str, str], list[CellJob]] = {}
    for job in jobs:
        cell = job.cell
        together = (cell.pretrain_key, cell.dataset) if cell.evaluation == LINEAR else (cell.key, "")
        groups.setdefault(together, []).append(job)
    return [tuple(group) for group in groups.values()]
