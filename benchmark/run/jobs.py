"""Jobs: what an engine runs at once in one process, a pretraining or the cells that share an encoder; picklable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.results.failures import End, Failure
from benchmark.results.names import ERROR, EVALUATION_FACTS
from benchmark.results.store import Store
from benchmark.run.cell import CellJob, run_together
from benchmark.run.curves.points import Point, pretraining_points
from benchmark.run.engines.engine import Tell
from benchmark.run.grid import Cell, Pretraining
from benchmark.run.machine import Machine
from benchmark.run.missing import is_finished, task_name
from benchmark.run.pretraining import PretrainingJob, run_to_end

Job = PretrainingJob | tuple[CellJob, ...]
"""What an engine runs at once, in one process."""


def configs_of(config: Config, tasks: Iterable[Pretraining | Cell]) -> dict[str, Config]:
    """Name of each row of some tasks -> its config."""
    variants = {task.variant.name: task.variant for task in tasks}
    return {name: with_settings(config, variant.settings) for name, variant in variants.items()}


def pretraining_job(
    task: Pretraining, configs: Mapping[str, Config], folders: Mapping[str, Path], store: Store, machine: Machine
) -> PretrainingJob:
    """The job of a pretraining, whose encoder goes to the store."""
    config, folder = configs[task.variant.name], store.pretrained / task.key
    ranks = machine.ranks if task.method.trains else 1
    how = str(machine.device), machine.precision, machine.compiled, ranks
    return PretrainingJob(task, config, folders, folder, *how)


def cell_job(
    cell: Cell,
    configs: Mapping[str, Config],
    folders: Mapping[str, Path],
    store: Store,
    machine: Machine,
    corpus: Mapping[str, Any],
) -> CellJob:
    """The job of a cell; `corpus`: what its encoder, if it was trained, was pretrained on."""
    own = dict(corpus) if cell.pretraining and cell.pretraining.method.trains else {}
    config, folder = configs[cell.variant.name], folders[cell.dataset]
    return CellJob(cell, config, folder, store.root, str(machine.device), machine.precision, own)


@dataclass(frozen=True)
class Learned:
    """The curve of a running pretraining, told after each epoch; picklable."""

    key: str
    points: tuple[Point, ...]


def run_job(job: Job, tell: Tell) -> list[End]:
    """Run a job; tells the steps of a pretraining as arguments of `Watch.inner`, and its curve as `Learned`."""
    if not isinstance(job, PretrainingJob):
        return run_together(job)
    name, key, recipe = task_name(job.task), job.task.key, job.task.variant.config.recipe
    return [
        run_to_end(
            job,
            lambda done, total, text: tell((name, done, total, text)),
            lambda history: tell(Learned(key, tuple(pretraining_points(vars(history), recipe)))),
        )
    ]


def tasks_of(job: Job) -> list[Pretraining | Cell]:
    """The tasks of a job."""
    return [job.task] if isinstance(job, PretrainingJob) else [own.cell for own in job]


def name_of(job: Job) -> str:
    """Name of a job in the progress display: that of its first task."""
    return task_name(tasks_of(job)[0])


def claimed(task: Pretraining | Cell) -> tuple[str, ...]:
    """Keys that a runner claims for a task: its own, and that of a stem, which other tasks need too."""
    return (task.key, task.stem) if isinstance(task, Pretraining) and task.stem else (task.key,)


Failed = tuple[int, int] | None
"""Time and inode of a failure's file; None if there is none."""


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


def save_failure(task: Pretraining | Cell, failure: Failure, store: Store) -> Path:
    """Store a task's failure; returns its file."""
    save = store.save_failure if isinstance(task, Cell) else store.save_pretraining_failure
    return save(task.key, task_name(task), failure.error, failure.traceback)


def killed(job: Job, error: Exception, store: Store) -> list[End]:
    """Outcomes of a job whose process was killed; what was stored before counts as done."""
    failure = Failure.of(error)
    return [End(task.key, 0.0, None if is_finished(task, store) else failure) for task in tasks_of(job)]


def groups_of(jobs: Sequence[CellJob]) -> list[tuple[CellJob, ...]]:
    """Groups of cells that run in one process: probes by encoder and dataset, every other cell alone."""
    groups: dict[tuple[str, str], list[CellJob]] = {}
    for job in jobs:
        cell = job.cell
        together = (cell.pretrain_key, cell.dataset) if is_probe(cell) else (cell.key, "")
        groups.setdefault(together, []).append(job)
    return [tuple(group) for group in groups.values()]


def is_probe(cell: Cell) -> bool:
    """Whether a cell of a table reads frozen features, which it shares with others of its encoder; no trial's."""
    return cell.evaluation in EVALUATION_FACTS and EVALUATION_FACTS[cell.evaluation].frozen
