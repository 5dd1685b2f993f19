"""A small grid, its store, and what is shown of the work on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from benchmark.config.config import Config
from benchmark.data.prepare import Prepared
from benchmark.machine import Machine
from benchmark.results.store import Row, Store
from benchmark.run.engine import Inline
from benchmark.run.grid import Cell, Context, Grid, make_grid
from benchmark.run.tasks import Ending, Job, Work, context_of, execute, missing

SmallConfig = Callable[..., Config]
Cohorts = dict[str, Prepared]
CPU = Machine(torch.device("cpu"), "float32")
BASE = {"methods": ["random", "pmq"], "evaluate": ["finetune", "linear"], "seeds": [41, 42], "baselines": []}


class Listed(SimpleNamespace):
    """The part of prepared data that a grid reads."""

    __hash__ = object.__hash__


def grid_of(config: Config, *, machine: Machine = CPU, **fingerprints: str) -> Grid:
    """The grid of a config whose corpus and columns have these fingerprints, by default those named after them."""
    made = {config.data.pretrain: "corpus"} | {c.name: f"data of {c.name}" for c in config.data.columns()}
    recordings = SimpleNamespace(fold=np.array([1]))
    data: Any = {name: Listed(fingerprint=text, recordings=recordings) for name, text in (made | fingerprints).items()}
    return make_grid(config, data, machine)


@dataclass
class Heard:
    """The display of a grid that runs, as a record."""

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def end(self, task: Job, outcomes: Sequence[Ending]) -> None:
        for outcome in outcomes:
            if outcome.failure:
                self.failed[outcome.name] = outcome.failure.line
            else:
                self.done.append(outcome.name)

    def refresh(self, running: Sequence[Job], remark: str = "") -> None:
        assert len({task.key for task in running}) == len(running)


@dataclass
class Bench:
    """A small grid, its store, and what was shown of the work on it."""

    config: Config
    prepared: Cohorts
    store: Store
    machine: Machine = CPU
    heard: Heard = field(default_factory=Heard)
    events: Path | None = None

    @property
    def grid(self) -> Grid:
        return make_grid(self.config, self.prepared, self.machine)

    def missing(self) -> Work:
        return missing(self.grid, self.store)

    def context(self) -> Context:
        return context_of(self.config, self.prepared, self.store, self.machine, self.events)

    def work_off(self, engine: Any = None) -> int:
        self.heard = Heard()
        self.store.root.mkdir(parents=True, exist_ok=True)
        execute(self.missing(), self.context(), engine or Inline(), self.heard)
        return len(self.heard.failed)

    def rows(self) -> list[Row]:
        """Rows without the seconds they took."""
        rows = filter(None, (self.store.load_row(cell.key) for cell in self.grid.cells))
        return [replace(row, training={**row.training, "seconds": 0.0}) for row in rows]


def stamps(store: Store) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}


def cell_of(bench: Bench, variant: str, evaluation: str = "finetune") -> Cell:
    return next(c for c in bench.grid.cells if (c.variant.name, c.evaluation) == (variant, evaluation))
