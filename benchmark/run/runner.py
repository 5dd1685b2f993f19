"""Which cells are missing -> pretrain once per key -> fine-tune -> store. What is done is never done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmark.config.config import Config
from benchmark.data.prepared.prepare import Prepared
from benchmark.data.prepared.skipped import skip_summary
from benchmark.data.tasks.text import has_text
from benchmark.results.keys import digest
from benchmark.results.names import LINEAR
from benchmark.results.plan import Plan, PlannedCell
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import CellEnd, CellJob, run_together
from benchmark.run.engines.local import run_tasks
from benchmark.run.grid import Cell, Grid, Pretraining, expand
from benchmark.run.pretraining import PretrainingJob, run_pretraining
from benchmark.training.weights import read_card


@dataclass(frozen=True)
class Watch:
    """Who is told of the work as it goes; names are those of `Work.costs`."""

    started: Callable[[str], None]
    inner: Callable[[str, int, int, str], None]
    finished: Callable[[str, float | None], None]
    """With the seconds it took, None where those are the time since it was started."""
    failed: Callable[[str, str], None]


@dataclass(frozen=True)
class Work:
    """The part of a grid that is not in the store yet."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    """One line per row that was found damaged and will be made again."""


@dataclass(frozen=True)
class Machine:
    """What the work runs on."""

    device: torch.device
    precision: str
    jobs: int
    """Cells at a time."""
    compiled: bool = False
    """Whether pretrainings go through torch.compile."""

    def mode(self) -> dict[str, str | int]:
        """What of the machine is part of a result's key: bits are only equal within one mode."""
        threads = torch.get_num_threads() if self.device.type == "cpu" else 0
        mode: dict[str, str | int] = {"device": self.device.type, "precision": self.precision, "threads": threads}
        return mode | ({"compiled": True} if self.compiled else {})

    def cell_threads(self) -> int:
        """Threads of a process that works on cells: one on the CPU, whatever the number of cores, for equal bits."""
        return 1 if self.device.type == "cpu" else torch.get_num_threads()


def make_grid(config: Config, prepared: Mapping[str, Prepared], machine: Machine) -> Grid:
    """The grid of a config on prepared data."""
    fingerprints = {name: prepared[name].fingerprint for name in config.data.datasets}
    return expand(
        config, corpus=prepared[config.data.pretrain].fingerprint, fingerprints=fingerprints, mode=machine.mode()
    )


def make_plan(config: Config, prepared: Mapping[str, Prepared], grid: Grid, warnings: Sequence[str] = ()) -> Plan:
    """What a report needs to know of a run besides its rows; the warnings stand under every table."""
    cells = [
        PlannedCell(cell.key, cell.variant.name, cell.table, cell.dataset, cell.ratio, cell.seed) for cell in grid.cells
    ]
    corpus = prepared[config.data.pretrain]
    content = {
        "config": config.model_dump(mode="json"),
        "variants": {variant.name: variant.title for variant in grid.variants},
        "roles": {variant.name: variant.facts() for variant in grid.variants},
        "datasets": {name: facts_of(prepared[name]) for name in config.data.datasets},
        "pretraining": facts_of(corpus) | {"name": corpus.name, "without_report": without_report(corpus)},
    }
    key = digest([content, [cell.key for cell in cells]])
    return Plan(key=key, cells=cells, warnings=list(warnings), **content)


def without_report(corpus: Prepared) -> int:
    """Recordings that a method which learns from reports leaves out."""
    return sum(not has_text(entry.report) for entry in corpus.entries)


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """What a table says of a dataset."""
    return {
        "title": prepared.title,
        "classes": list(prepared.classes),
        "form": prepared.form,
        "simulated": prepared.simulated,
        "fingerprint": prepared.fingerprint,
        "recordings": len(prepared.entries),
        "patients": len({entry.patient for entry in prepared.entries}),
        "skipped": skip_summary(prepared.skipped),
    }


def missing(grid: Grid, store: Store) -> Work:
    """What of a grid has to be done: cells without a whole row, and the encoders they need and that are not there."""
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
        folder = store.pretrained / pretraining.key
        if read_card(folder) is None:
            pretrainings.append(pretraining)
    unique = {cell.key: cell for cell in cells}
    return Work(grid, tuple(pretrainings), tuple(unique.values()), tuple(damaged))


def task_name(task: Pretraining | Cell) -> str:
    """Name of a task in the progress display."""
    if isinstance(task, Cell):
        return task.describe()
    return f"{task.variant.name} pretrain seed {task.seed}"


def do(
    work: Work, config: Config, prepared: Mapping[str, Prepared], store: Store, machine: Machine, watch: Watch
) -> int:
    """Do all that is missing; returns how many tasks failed. A failure leaves its reason in the store and goes on."""
    failed: dict[str, str] = {}
    for pretraining in work.pretrainings:
        name = task_name(pretraining)
        watch.started(name)
        try:
            folder = store.pretrained / pretraining.key
            device, precision = machine.device, machine.precision
            job = PretrainingJob(pretraining, config, prepared, folder, device, precision, machine.compiled)
            run_pretraining(job, partial(watch.inner, name))
        except Exception as error:
            failed[pretraining.key] = f"{type(error).__name__}: {error}"
            watch.failed(name, failed[pretraining.key])
        else:
            watch.finished(name, None)
    possible = []
    for cell in work.cells:
        start = cell.pretraining.key if cell.pretraining else ""
        if start in failed:
            reason = f"its pretraining failed: {failed[start]}"
            store.save_failure(cell.key, cell.describe(), reason)
            watch.failed(cell.describe(), reason)
        else:
            possible.append(cell)
    failures = len(work.cells) - len(possible) + len(failed)
    return failures + run_cells(possible, config, prepared, store, machine, watch)


def run_cells(
    cells: list[Cell],
    config: Config,
    prepared: Mapping[str, Prepared],
    store: Store,
    machine: Machine,
    watch: Watch,
) -> int:
    """Work out cells, several at a time; returns how many failed."""
    names = {cell.key: cell.describe() for cell in cells}
    jobs = [cell_job(cell, config, prepared[cell.dataset].folder, store.root, machine) for cell in cells]
    failures = 0
    threads = machine.cell_threads()

    def started(group: Sequence[CellJob]) -> None:
        watch.started(names[group[0].key])

    for ended in run_tasks(run_together, groups_of(jobs), jobs=machine.jobs, threads=threads, on_start=started):
        for end in ended.result or killed(ended.task, f"{type(ended.error).__name__}: {ended.error}", store):
            name = names[end.key]
            if end.error:
                failures += 1
                store.save_failure(end.key, name, end.error)
                watch.failed(name, end.error)
            else:
                watch.finished(name, end.seconds)
    return failures


def killed(jobs: Sequence[CellJob], reason: str, store: Store) -> list[CellEnd]:
    """How the cells of a group ended whose process was killed: what it had stored by then stands."""
    return [CellEnd(job.key, 0.0, "" if store.load_row(job.key) else reason) for job in jobs]


def groups_of(jobs: Sequence[CellJob]) -> list[tuple[CellJob, ...]]:
    """Cells that one process works out in turn: the linear probes of an encoder on a dataset, every other alone."""
    groups: dict[tuple[str, str], list[CellJob]] = {}
    for job in jobs:
        together = (job.pretrain_key, job.dataset) if job.evaluation == LINEAR else (job.key, "")
        groups.setdefault(together, []).append(job)
    return [tuple(group) for group in groups.values()]


def cell_job(cell: Cell, config: Config, prepared: Path, results: Path, machine: Machine) -> CellJob:
    """A cell as a process of its own needs it."""
    return CellJob(
        key=cell.key,
        pretrain_key=cell.pretraining.key if cell.pretraining else "",
        variant=cell.variant.name,
        method=cell.variant.method.name if cell.variant.method else cell.variant.name,
        evaluation=cell.evaluation,
        dataset=cell.dataset,
        ratio=cell.ratio,
        seed=cell.seed,
        pretrain_seed=cell.pretraining.seed if cell.pretraining else None,
        config=config,
        prepared=prepared,
        results=results,
        device=str(machine.device),
        precision=machine.precision,
    )
