"""Jobs: what an engine runs at once in one process, a pretraining or the cells that share an encoder; picklable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.results.failures import End, Failure
from benchmark.results.names import EVALUATION_FACTS
from benchmark.results.store import Store
from benchmark.run.cell import CellJob, run_together
from benchmark.run.curves.points import Point, pretraining_points
from benchmark.run.engines.local import Tell
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
    return PretrainingJob(task, config, folders, folder, str(machine.device), machine.precision, machine.compiled)


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


def name_of(job: Job) -> str:
    """Name of a job in the progress display: that of its first task."""
    return task_name(job.task if isinstance(job, PretrainingJob) else job[0].cell)


def killed(job: Job, error: Exception, store: Store) -> list[End]:
    """Outcomes of a job whose process was killed; what was stored before counts as done."""
    failure = Failure.of(error)
    tasks = [job.task] if isinstance(job, PretrainingJob) else [own.cell for own in job]
    return [End(task.key, 0.0, None if is_finished(task, store) else failure) for task in tasks]


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
