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

TIMED_WINDOWS, TRAINED_WINDOWS = (256, 1024), (128, 512)
"""Windows of two cells that are timed, and of two that are trained in epochs."""


class Line(NamedTuple):
    """Seconds of a cell as a function of its windows."""

    start: float
    """Seconds of a cell without windows: trees, for example, take theirs however few they are fitted to."""
    window: float


class Seconds(NamedTuple):
    """Seconds that an evaluation takes."""

    first: Line
    further: Line
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
                timed[pair] = seconds_of_cells(cell, config, machine)
            seed = cell.seed if config.protocol == "strict" else 0  # seeds share a task under `paper`
            task = cell.evaluation, cell.ratio, cell.subset, seed
            if task not in tasks:
                line = timed[pair].further if tasks else timed[pair].first
                size = sizes[config.data.column(cell.dataset).dataset]
                total += size.parts * line.start + windows_read(cell, config, size) * line.window
                tasks.add(task)
    return total


def windows_read(cell: Cell, config: Config, size: Size) -> float:
    """Count the windows that a cell learns on, as often as it does, and tests, of a dataset of a size.

    An epoch takes one crop of each recording that is kept whole.
    """
    settings = cell.content["settings"]
    learned = cell.ratio * size.windows
    if "epochs" in settings:
        if config.data.segmentation.kind == "recordings":
            learned = cell.ratio * size.recordings
        least = settings.get("least_updates", 1) * settings["batch_size"]
        learned = settings["epochs"] * max(learned, least)
    tested = size.windows if size.parts > 1 else TENTH * size.windows
    return float(size.parts * learned + tested)


def seconds_of_cells(cell: Cell, config: Config, machine: Machine) -> Seconds:
    """Time the evaluation of a cell on noise of two sizes, for an epoch where it is trained in epochs.

    0 without its extra.
    """
    settings = dict(cell.variant.settings)
    sizes = TIMED_WINDOWS
    for name in ("epochs", "least_updates"):
        if name in cell.content["settings"]:
            settings[f"{cell.evaluation}.{name}"] = 1
            sizes = TRAINED_WINDOWS
    row = with_settings(config, settings)
    try:
        with limited_threads(1):
            times = [timed_cells(cell, row, machine, windows) for windows in sizes]
    except ModuleNotFoundError:  # an extra that is missing, which the dry run has named
        return Seconds(Line(0.0, 0.0), Line(0.0, 0.0))
    first, further = (line_through(sizes, seconds) for seconds in zip(*times, strict=True))
    return Seconds(first, further)


def timed_cells(cell: Cell, row: Config, machine: Machine, windows: int) -> tuple[float, float]:
    """Time a cell on noise of so many windows, and a further one that uses its features."""
    cache = EvaluationCache(machine.precision)
    if cell.pretraining is None:
        task = noise_task(row.data.cut().samples, machine.device, windows)
        judge = partial(evaluate_classical, cell.evaluation, task, row, cell.draw_seed)
    else:
        method = cell.pretraining.method
        encoder = new_method(cell.pretraining, row, machine.device).exported().eval()
        cut = encoder.signals if isinstance(encoder, PretrainedEncoder) else row.data.cut()
        task = noise_task(cut.samples, machine.device, windows)
        judge = partial(evaluate, cell.evaluation, encoder, task, row, method=method, seed=0, cache=cache)
    first = timeit(judge, number=1)
    cache.outcomes.clear()
    further = timeit(judge, number=1)
    shares = is_frozen(cell.evaluation) or cell.pretraining is None
    return (first if shares else min(first, further)), further


def line_through(sizes: tuple[int, int], seconds: tuple[float, float]) -> Line:
    """Return the line through the times of two sizes; through the larger one alone where it took no longer."""
    few, many = sizes
    slope = (seconds[1] - seconds[0]) / (many - few)
    if slope <= 0:
        return Line(0.0, seconds[1] / many)
    return Line(max(0.0, seconds[0] - slope * few), slope)
