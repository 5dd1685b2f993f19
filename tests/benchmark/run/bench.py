"""A small grid, its store, and what its runner says: what the tests of missing work and of the runner begin from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from benchmark.config.config import Config
from benchmark.data.prepare import Prepared
from benchmark.machine.device import Machine
from benchmark.results.store import Row, Store
from benchmark.run.grid import Cell, Grid, make_grid
from benchmark.run.jobs import ProgressCallbacks, RunContext, Work, missing
from benchmark.run.runner import do

MACHINE = Machine(torch.device("cpu"), "float32", 1)
SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]


@dataclass
class Heard:
    """What the runner says as it goes."""

    begun: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def watch(self) -> ProgressCallbacks:
        return ProgressCallbacks(
            started=self.begun.append,
            inner=lambda task, done, total, text: self.steps.append(f"{task} {done}/{total}"),
            finished=lambda task, seconds: self.done.append(task),
            failed=self.lost.__setitem__,
            elsewhere=self.others.append,
            waiting=self.waits.append,
            note=self.notes.append,
        )


@dataclass
class Bench:
    """A small grid, its store, and what was heard of the work on it."""

    config: Config
    prepared: Cohorts
    store: Store
    machine: Machine = MACHINE
    heard: Heard = field(default_factory=Heard)
    events: Path | None = None

    @property
    def grid(self) -> Grid:
        return make_grid(self.config, self.prepared, self.machine)

    def missing(self) -> Work:
        return missing(self.grid, self.store)

    def setup(self, watch: ProgressCallbacks) -> RunContext:
        return RunContext(self.config, self.prepared, self.store, self.machine, watch, self.events)

    def work_off(self) -> int:
        self.heard = Heard()
        return do(self.missing(), self.setup(self.heard.watch()))

    def rows(self) -> list[Row]:
        """Rows without the seconds they took."""
        rows = [self.store.load_row(cell.key) for cell in self.grid.cells]
        return [replace(row, training={**row.training, "seconds": 0.0}) for row in rows if row is not None]


def stamps(store: Store) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}


def cell_of(bench: Bench, variant: str, evaluation: str = "finetune") -> Cell:
    return next(c for c in bench.grid.cells if (c.variant.name, c.evaluation) == (variant, evaluation))
