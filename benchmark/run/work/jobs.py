"""Jobs: what an engine runs at once in one process, a pretraining or the cells that share an encoder; picklable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmark.config.change import with_settings
from benchmark.config.config import Config
from benchmark.results.failures import End, Failure
from benchmark.results.names import EVALUATION_FACTS
from benchmark.results.store import Store
from benchmark.run.cell import CellJob, run_together, source_facts
from benchmark.run.curves.points import pretraining_points
from benchmark.run.engines.engine import Tell
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.run.pretraining import PretrainingJob, run_to_end
from benchmark.run.work.setup import Setup, folders_of
from benchmark.run.work.stored import is_finished
from benchmark.run.work.watch import Learned

Job = PretrainingJob | tuple[CellJob, ...]
"""What an engine runs at once, in one process."""


def configs_of(config: Config, tasks: Iterable[Pretraining | Cell]) -> dict[str, Config]:
    """Name of each row of some tasks -> its config."""
    variants = {task.variant.name: task.variant for task in tasks}
    return {name: with_settings(config, variant.settings) for name, variant in variants.items()}


def pretraining_job(task: Pretraining, configs: Mapping[str, Config], setup: Setup) -> PretrainingJob:
    """The job of a pretraining, whose encoder goes to the store; `configs`: of the rows (`configs_of`)."""
    machine = setup.machine
    config, folder = configs[task.variant.name], setup.store.pretrained / task.key
    ranks = machine.ranks if task.method.trains else 1
    how = str(machine.device), machine.precision, machine.compiled, ranks
    return PretrainingJob(task, config, folders_of(setup), folder, *how)


def cell_jobs(cells: Iterable[Cell], configs: Mapping[str, Config], setup: Setup) -> list[tuple[CellJob, ...]]:
    """The jobs of some cells, those that run in one process together."""
    return [tuple(cell_job(cell, configs, setup) for cell in group) for group in groups_of(cells)]


def cell_job(cell: Cell, configs: Mapping[str, Config], setup: Setup) -> CellJob:
    """The job of a cell; it says what its encoder, if it was trained, was pretrained on."""
    machine = setup.machine
    trained = cell.pretraining and cell.pretraining.method.trains
    corpus = source_facts(setup.prepared[setup.config.data.pretrain]) if trained else {}
    config, folder = configs[cell.variant.name], setup.prepared[cell.dataset].folder
    return CellJob(cell, config, folder, setup.store.root, str(machine.device), machine.precision, corpus)


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


def killed(job: Job, error: Exception, store: Store) -> list[End]:
    """Outcomes of a job whose process was killed; what was stored before counts as done."""
    failure = Failure.of(error)
    return [End(task.key, 0.0, None if is_finished(task, store) else failure) for task in tasks_of(job)]


def groups_of(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Groups of cells that run in one process: probes by encoder and dataset, every other cell alone."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(together(cell), []).append(cell)
    return list(groups.values())


def together(cell: Cell) -> tuple[str, str]:
    """What the cells of a group have in common."""
    return (cell.pretrain_key, cell.dataset) if is_probe(cell) else (cell.key, "")


def is_probe(cell: Cell) -> bool:
    """Whether a cell of a table reads frozen features, which it shares with others of its encoder; no trial's."""
    return cell.evaluation in EVALUATION_FACTS and EVALUATION_FACTS[cell.evaluation].frozen
