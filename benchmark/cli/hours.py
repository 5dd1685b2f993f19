"""The time of a grid: an update of each method and a cell of each evaluation are timed on noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from timeit import timeit
from typing import NamedTuple

from benchmark.config.config import Config, with_settings
from benchmark.machine import Machine
from benchmark.results.names import is_frozen
from benchmark.run.costs import seconds_per_update
from benchmark.run.datasets import TENTH, Size
from benchmark.run.grid import Cell, Pretraining
from benchmark.run.pretraining import new_method
from benchmark.run.tasks import Work, limited_threads
from benchmark.training.evaluations import evaluate, evaluate_classical
from benchmark.training.probes import EvaluationCache
from benchmark.training.whole_task import noise_task
from methods.encoders.pretrained import PretrainedEncoder

TIMED_WINDOWS, TRAINED_WINDOWS = 1024, 128
"""Windows of a cell that is timed, and of one that is trained in epochs."""


class Seconds(NamedTuple):
    """Seconds that an evaluation takes for a window."""

    first: float
    further: float
    """Seconds of a further cell, which uses the features of the first."""


def timed_updates(config: Config, machine: Machine, pretrainings: Sequence[Pretraining]) -> dict[str, float]:
    """Time an update of each method that trains, on each encoder: seconds by `Pretraining.trained_name`."""
    timed: dict[str, float] = {}
    samples = config.data.cut().samples
    for one in pretrainings:
        if not one.method.trains or one.trained_name in timed:
            continue
        with limited_threads(machine.threads() or 1):
            method = new_method(one, with_settings(config, one.variant.settings), machine.device)
            timed[one.trained_name] = seconds_per_update(method, one.variant.config, samples, machine.precision)
    return timed


def cell_seconds(config: Config, machine: Machine, sizes: Mapping[str, Size], work: Work) -> float:
    """Estimate the seconds of all cells by their windows; of cells that share features the first one computes them."""
    total = 0.0
    timed: dict[tuple[str, str], Seconds] = {}
    for job in work.jobs:
        tasks: set[tuple[str, float, int, int]] = set()
        for cell in job.parts:
            if not isinstance(cell, Cell):
                continue
            encoder = cell.variant.method_name if cell.variant.external else cell.variant.encoder
            pair = cell.evaluation, encoder
            if pair not in timed:
                timed[pair] = seconds_per_window(cell, config, machine)
            seed = cell.seed if config.protocol == "strict" else 0  # seeds share a task under `paper`
            task = cell.evaluation, cell.ratio, cell.subset, seed
            if task not in tasks:
                seconds = timed[pair].further if tasks else timed[pair].first
                dataset = config.data.column(cell.dataset).dataset
                total += windows_read(cell, sizes[dataset].windows) * seconds
                tasks.add(task)
    return total


def windows_read(cell: Cell, windows: int) -> float:
    """Count the windows that a cell learns on, as often as it does, and tests, of a dataset of so many windows."""
    settings = cell.content["settings"]
    parts = cell.content["task"].get("folds", 1)
    learned = cell.ratio * windows
    if "epochs" in settings:
        least = settings.get("least_updates", 1) * settings["batch_size"]
        learned = settings["epochs"] * max(learned, least)
    tested = windows if parts > 1 else TENTH * windows
    return float(parts * learned + tested)


def seconds_per_window(cell: Cell, config: Config, machine: Machine) -> Seconds:
    """Time the evaluation of a cell on noise, for an epoch where it is trained in epochs; 0 without its extra."""
    settings = dict(cell.variant.settings)
    windows = TIMED_WINDOWS
    for name in ("epochs", "least_updates"):
        if name in cell.content["settings"]:
            settings[f"{cell.evaluation}.{name}"] = 1
            windows = TRAINED_WINDOWS
    row = with_settings(config, settings)
    known = EvaluationCache(machine.precision)
    if cell.pretraining is None:
        task = noise_task(row.data.cut().samples, machine.device, windows)
        judge = partial(evaluate_classical, cell.evaluation, task, row, cell.draw_seed)
    else:
        method = cell.pretraining.method
        encoder = new_method(cell.pretraining, row, machine.device).exported().eval()
        cut = encoder.signals if isinstance(encoder, PretrainedEncoder) else row.data.cut()
        task = noise_task(cut.samples, machine.device, windows)
        judge = partial(evaluate, cell.evaluation, encoder, task, row, method=method, seed=0, cache=known)
    try:
        with limited_threads(1):
            first = timeit(judge, number=1) / windows
            known.outcomes.clear()
            further = timeit(judge, number=1) / windows
    except ModuleNotFoundError:  # an extra that is missing, which the dry run has named
        return Seconds(0.0, 0.0)
    shares = is_frozen(cell.evaluation) or cell.pretraining is None
    return Seconds(first if shares else min(first, further), further)
