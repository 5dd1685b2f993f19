"""Tasks per hour of a small grid with 1, 2 and 4 workers: whole runs, each with a store of its own.

A run is timed by its files, from the plan, which is written before the first task begins, to the last row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

from benchmark.config.command_line.values import Place
from benchmark.config.command_line.verb import OK
from benchmark.config.config import Config
from benchmark.config.load import load_config
from benchmark.run.machine import Machine
from benchmark.screen.console import open_console
from benchmark.verbs.speed.record import EngineSpeed

WORKERS = (1, 2, 4)
GRID = {
    "methods": ["random", "moco", "pmq"],
    "data.datasets": ["chapman"],
    "data.simulation.patients": {"mimic-iv-ecg": 100, "chapman": 200},
    "gates": [],
    "ratios": [0.3],
    "seeds": [41, 42, 43, 44],
    "evaluate": ["finetune"],
}
"""Of the config `demo`: six encoders, four of them untrained, and twelve fine-tunings, seconds each."""


def engine_speed(machine: Machine, workers: Sequence[int] = WORKERS) -> tuple[EngineSpeed, ...]:
    """Run the grid with each number of workers on the machine's device."""
    config = load_config("demo", GRID)
    with tempfile.TemporaryDirectory(prefix="speed-") as folder:
        return tuple(timed(config, replace(machine, jobs=count, compiled=False), Path(folder)) for count in workers)


def timed(config: Config, machine: Machine, folder: Path) -> EngineSpeed:
    """A run of the grid in a folder, whose data are shared by the runs. Raises RuntimeError if a task fails."""
    from benchmark.verbs.run.grid import GridRequest, run_grid  # here, because the verb `run` reads speed's record

    own = folder / str(machine.jobs)
    place = Place(None, {}, folder / "cache", simulated=folder / "simulated")
    quiet = open_console(StringIO())
    if run_grid(GridRequest(config, place, machine, own / "runs", own / "out"), quiet) != OK:
        raise RuntimeError("a task of the small grid has failed")
    begun = min(path.stat().st_mtime for path in (own / "runs" / "plans").glob("*.json"))
    cells = [path.stat().st_mtime for path in (own / "runs" / "cells").glob("*.json")]
    encoders = sum(path.is_dir() for path in (own / "runs" / "pretrained").iterdir())
    return EngineSpeed(machine.jobs, len(cells) + encoders, max(cells) - begun)
