"""Grids on paper: the tasks of a config, with the seconds that they are calculated to take on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from benchmark.config.config import Config, load_config
from benchmark.results.names import METHOD
from benchmark.run.estimate import PASSES_PER_STEP, Size, pairs_trained, passes
from benchmark.run.grid import Cell, Grid, Pretraining, expand
from benchmark.run.jobs import Work, in_turn
from benchmark.run.local import Task
from benchmark.run.rows import Variant
from docs.evidence.scaling.cost import Gpu, Update, finetuning_update, update_of
from docs.evidence.scaling.makespan import planned_tasks

NOTHING: Mapping[str, Any] = {}
RECORDINGS = {"ptb-xl": 21_799, "chapman": 10_646, "cpsc2018": 6_877}
"""As published."""
CORPUS = "mimic-iv-ecg"
TENTH, WHOLE, TEN_MILLION = 80_000, 800_000, 10_000_000
"""ECGs of a corpus: the paper's tenth of MIMIC-IV-ECG, all of it, and a larger one."""
BEATS = 10
"""Of a recording: one pseudo-trial."""
CELL_SECONDS = 5.0
"""Assumed of a cell beside its updates: reading, validation scores, writing."""


def paper(further: Mapping[str, Any] = NOTHING) -> Config:
    """The config `paper` without gates, which are the suite's own; `further`: keys in place of its own."""
    return load_config("paper", {"gates": [], **further})


def grid_of(config: Config) -> Grid:
    """All cells of a config."""
    names = {name: name for name in config.data.datasets}
    return expand(config, corpus=CORPUS, fingerprints=names, mode={"device": "cuda", "precision": "bf16"})


def sizes_of(config: Config, ecgs: int) -> dict[str, Size]:
    """Recordings and heartbeats of the datasets, with a corpus of so many ECGs."""
    counts = {CORPUS: ecgs} | {name: RECORDINGS[name] for name in config.data.datasets}
    return {name: Size(count, BEATS * count, exact=False) for name, count in counts.items()}


def compared(config: Config) -> list[Variant]:
    """The methods that train."""
    return [own for own in grid_of(config).variants if own.role == METHOD and own.method and own.method.trains]


@cache
def counted_update(name: str, ranks: int = 1) -> Update:
    """An update of a method of the paper's grid, on one of so many ranks."""
    config = paper()
    (variant,) = (own for own in compared(config) if own.name == name)
    return update_of(config, variant, ranks)


@cache
def counted_finetuning() -> Update:
    """An update of fine-tuning of the paper's grid."""
    return finetuning_update(paper())


def updates_of(task: Pretraining, config: Config, ecgs: int) -> float:
    """Updates of a pretraining."""
    return pairs_trained(task, config, sizes_of(config, ecgs)) / task.variant.config.recipe.batch_size


def flop_of(task: Pretraining | Cell, config: Config, ecgs: int) -> float:
    """FLOP of a task; of an encoder pass a third of an update of fine-tuning."""
    if isinstance(task, Cell):
        own = counted_finetuning()
        return passes(task, config, sizes_of(config, ecgs)) * own.flop / own.batch / PASSES_PER_STEP
    if not task.method.trains:
        return 0.0
    return updates_of(task, config, ecgs) * counted_update(task.method.name).flop


def seconds_of(task: Pretraining | Cell, config: Config, ecgs: int, gpu: Gpu) -> float:
    """Seconds of a task on a GPU, calculated; an ablation or a queue size is taken to cost what its method costs."""
    if isinstance(task, Cell):
        own = counted_finetuning()
        a_pass = own.seconds(gpu) / own.batch / PASSES_PER_STEP
        return CELL_SECONDS + passes(task, config, sizes_of(config, ecgs)) * a_pass
    if not task.method.trains:
        return 0.0
    return updates_of(task, config, ecgs) * counted_update(task.method.name).seconds(gpu)


def tasks_of(config: Config, ecgs: int, gpu: Gpu) -> list[Task[None]]:
    """What an engine is given for a config."""
    grid = grid_of(config)
    work = Work(grid, grid.pretrainings, tuple(in_turn(grid.cells)), ())
    return planned_tasks(work, lambda task: seconds_of(task, config, ecgs, gpu))
