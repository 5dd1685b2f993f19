"""Predicted and measured makespans side by side, on a SLURM that is started here: make.py --check.

Twice: the shape of the paper's grid with tasks that sleep, on 1 to 8 devices, which tries the rules alone; and a small
grid of the suite on 1 and 2 CPUs, predicted from what each of its tasks took under the engine `local`. The second is in
processor time, since others may use the machine: predicted from processor seconds, and the measured makespan is taken
times the share of a core that its jobs had.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from benchmark.cli.dry_run import seconds_of
from benchmark.config.config import Config, load_config
from benchmark.config.flags import Folders
from benchmark.config.sections import EngineSection
from benchmark.data.prepare import Prepared, prepare
from benchmark.extras.slurm import Slurm
from benchmark.machine.ranks import Machine
from benchmark.results.store import Store
from benchmark.run.datasets import locate, names_of
from benchmark.run.estimate import exact_size
from benchmark.run.grid import make_grid
from benchmark.run.jobs import ProgressCallbacks, RunContext, missing, quiet
from benchmark.run.local import Ended, Engine, Local, Order, Task
from benchmark.run.runner import Expected, do, no_estimate
from docs.evidence.scaling.cost import H100
from docs.evidence.scaling.grids import TENTH, paper, tasks_of
from docs.evidence.scaling.makespan import as_slurm, planned_tasks
from docs.evidence.scaling.naps import Taken, metered, naps, taken
from tests.benchmark.extras.slurm.cluster import MOST_IN_AN_ARRAY, started, why_not

NAPPING = (1, 2, 4, 8)
WORKING = (1, 2)
NAP_SECONDS = 160.0
"""Of all naps together."""
MODULE = "benchmark.run.jobs"
"""What a job of a grid imports."""
SETTINGS = EngineSection(name="slurm", memory_gb=0.5, minutes=60)
GRID: dict[str, Any] = {
    "methods": ["moco", "clocs", "pmq"],
    "data.datasets": ["chapman"],
    "data.simulation.patients": {"mimic-iv-ecg": 150, "chapman": 300},
    "evaluate": ["finetune"],
    "ratios": [0.3, 0.1],
    "seeds": [41, 42],
}
"""Of the config `demo`: three pretrainings and twelve fine-tunings."""


def check(part: str, rounds: int) -> dict[str, Any]:
    """What the part `naps` or `grid` finds. Exits where no SLURM can be started."""
    if reason := why_not():
        raise SystemExit(reason)
    torch.set_num_threads(1)
    load, cores = os.getloadavg()[1], os.cpu_count()
    with tempfile.TemporaryDirectory(prefix="scaling-") as name:
        folder = Path(name)
        if part == "naps":
            asleep = asleep_tasks()
            lines = [napped(asleep, devices, folder / str(devices)) for devices in NAPPING]
        else:
            lines = [line for number in range(rounds) for line in worked(folder / str(number))]
    return {"cores": cores, "load": [round(load, 1), round(os.getloadavg()[1], 1)], "lines": lines}


def asleep_tasks() -> list[Task[None]]:
    """The tasks of the paper's grid as they are calculated for a GPU, shrunk."""
    tasks = tasks_of(paper(), TENTH, H100)
    shrink = NAP_SECONDS / sum(task.seconds for task in tasks)
    return [replace(task, seconds=task.seconds * shrink) for task in tasks]


@contextmanager
def cluster(folder: Path, devices: int) -> Iterator[Path]:
    """Within, a SLURM of so many CPUs; yields a folder for its jobs."""
    for own in ("slurm", "jobs", "starts"):
        (folder / own).mkdir(parents=True)
    with started(folder / "slurm", devices):
        yield folder


def engine(folder: Path) -> Slurm:
    """The engine on the SLURM that runs."""
    return Slurm(SETTINGS, folder, MOST_IN_AN_ARRAY, poll_seconds=1.0)


def job_seconds(folder: Path, devices: int, module: str) -> tuple[float, float]:
    """Seconds of a job beside its tasks, by the clock and in processor time: two jobs without any on each device.

    In processor time: that of the process, and by the clock what passes between two processes.
    """
    empty: list[Task[None]] = [Task(f"empty{number}", "", None, is_pretraining=True) for number in range(2 * devices)]
    begun = time.time()
    list(engine(folder / "starts" / "jobs").run(metered(naps(folder / "starts", empty, module), folder / "starts")))
    each = (last_written(folder / "starts", "empty*") - begun) / 2
    took = taken(folder / "starts")
    return each, took.cpu / took.jobs + max(0.0, each - took.alive / took.jobs)


def last_written(folder: Path, pattern: str) -> float:
    """When the last file was written."""
    return max(path.stat().st_mtime for path in folder.glob(pattern))


def napped(tasks: Sequence[Task[None]], devices: int, folder: Path) -> dict[str, float]:
    """Predicted and measured makespan of sleeping tasks."""
    with cluster(folder, devices):
        start, _ = job_seconds(folder, devices, "")
        done, begun = folder / "done", time.time()
        done.mkdir()
        ended = list(engine(folder / "jobs").run(naps(done, tasks)))
    assert all(own.error is None for own in ended)
    predicted = as_slurm(tasks, devices, SETTINGS, job_seconds=start)
    return line_of(devices, start, predicted.seconds, last_written(done, "*") - begun)


def line_of(devices: int, start: float, predicted: float, measured: float, **more: float) -> dict[str, float]:
    """A line of the page; also printed."""
    line = {"devices": devices, "job_seconds": start, "predicted": predicted, "measured": measured, **more}
    print(line, flush=True)
    return {name: round(value, 2) for name, value in line.items()}


@dataclass
class Timed:
    """The engine `local` in this process, which notes its tasks and the processor seconds that each took."""

    took: dict[str, float] = field(default_factory=dict)
    tasks: list[Task[Any]] = field(default_factory=list)
    remote: bool = False
    detached: bool = False

    def run(self, order: Order[Any, Any]) -> Iterator[Ended[Any, Any]]:
        """Run tasks one by one."""
        self.tasks += order.tasks
        begun = time.process_time()
        for ended in Local(1).run(order):
            self.took[ended.task.key] = time.process_time() - begun
            yield ended
            begun = time.process_time()


@dataclass(frozen=True)
class MeteredSlurm:
    """The engine `slurm`, whose jobs note what they take."""

    slurm: Slurm
    folder: Path
    remote: bool = True
    detached: bool = False

    def run(self, order: Order[Any, Any]) -> Iterator[Ended[Any, Any]]:
        """Run tasks in jobs."""
        yield from self.slurm.run(metered(order, self.folder))


def worked(folder: Path) -> Iterator[dict[str, float]]:
    """Predicted and measured makespan of a small grid, on each number of devices."""
    config = load_config("demo", GRID)
    prepared = {}
    for name in names_of(config):
        dataset = locate(config, name, Folders(None, {}, simulated=folder / "simulated"))
        prepared[name] = prepare(dataset, folder / "cache", workers=1)
    timed = Timed()
    run(config, prepared, folder / "local", timed)  # type: ignore[arg-type]
    tasks = [replace(task, work=None, seconds=timed.took[task.key]) for task in timed.tasks]
    by_key = {task.key: task.seconds for task in tasks}
    guessed = guessed_tasks(config, prepared, folder)
    for devices in WORKING:
        own = folder / str(devices)
        with cluster(own, devices):
            _, start = job_seconds(own, devices, MODULE)
            begun = time.time()
            jobs = MeteredSlurm(engine(own / "jobs"), own)
            run(config, prepared, own / "runs", jobs, lambda task: by_key[task.key])  # type: ignore[arg-type]
        clock = last_written(own / "runs" / "cells", "*.json") - begun
        took: Taken = taken(own)
        share = took.cpu / took.alive
        found = as_slurm(tasks, devices, SETTINGS, job_seconds=start).seconds
        more = {
            "guessed": as_slurm(guessed, devices, SETTINGS, job_seconds=start).seconds,
            "one_by_one": sum(by_key.values()),
            "jobs": took.jobs,
            "cpu": took.cpu,
            "clock": clock,
            "share": share,
        }
        yield line_of(devices, start, found, clock * share, **more)


def guessed_tasks(config: Config, prepared: dict[str, Prepared], folder: Path) -> list[Task[None]]:
    """The tasks with the seconds that --dry-run expects, from an encoder pass timed now."""
    machine = Machine(torch.device("cpu"), "float32", 1)
    sizes = {data.dataset_name: exact_size(data) for data in prepared.values()}
    _, seconds = seconds_of(config, folder / "none.json", machine, sizes, 1)
    return planned_tasks(missing(make_grid(config, prepared, machine), Store(folder / "none")), seconds)


def run(
    config: Config, prepared: dict[str, Prepared], results: Path, own: Engine, expected: Expected = no_estimate
) -> None:
    """Run the grid with an engine. Exits where a task fails."""
    machine, store = Machine(torch.device("cpu"), "float32", 1), Store(results)
    work = missing(make_grid(config, prepared, machine), store)
    if do(work, RunContext(config, prepared, store, machine, ProgressCallbacks(*[quiet] * 7)), own, expected):
        raise SystemExit("a task of the small grid has failed")
