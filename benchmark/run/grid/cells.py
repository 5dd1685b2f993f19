"""A grid as values: its pretrainings and its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.run.grid.variants import Variant
from methods.base import PretrainMethod


@dataclass(frozen=True)
class Pretraining:
    """One pretrained encoder, shared by all cells that start from it."""

    key: str
    variant: Variant
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What `key` is the digest of."""
    stem: str = ""
    """Key of the part that pretrainings of different length share; '' for none."""
    lengths: tuple[float, ...] = field(default=(), compare=False, repr=False)
    """Epochs of all pretrainings of the grid with this stem, ascending."""

    @property
    def method(self) -> type[PretrainMethod]:
        """The variant's method."""
        assert self.variant.method is not None, f"{self.variant.name}: nothing is pretrained"
        return self.variant.method


@dataclass(frozen=True)
class Cell:
    """One evaluation: an encoder (or none) on one dataset, label ratio and seed."""

    key: str
    variant: Variant
    pretraining: Pretraining | None
    evaluation: str
    """One of `EVALUATIONS`, 'features', 'supervised' or 'validation'."""
    table: str
    """The evaluation whose table shows it; a gate may be in several tables, 'validation' in none."""
    dataset: str
    """The column's name: that of a dataset, and of its task where it is not `default`."""
    ratio: float
    """Share of the labels, or labelled patients per class where the evaluation takes shots."""
    seed: int
    content: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """`key` is the digest of [content, ratio, seed]."""
    simulated: tuple[str, ...] = ()
    """Entries of a row's provenance, of 'data' and 'corpus', whose data are marked as simulated on this machine."""
    own: Path | None = field(default=None, compare=False)
    """Of an encoder with signals of its own: folder of the column's recordings, cut to these."""
    gate: str = ""
    """The gate that it belongs to, as `--gates` names it; '' for a compared row at a compared ratio."""

    @property
    def pretrain_key(self) -> str:
        """Key of the pretraining; '' for none."""
        return self.pretraining.key if self.pretraining else ""

    def describe(self) -> str:
        """Name in progress display and messages."""
        return f"{self.variant.name} {self.evaluation} {self.dataset} {self.ratio:g} seed {self.seed}"


@dataclass(frozen=True)
class Grid:
    """All pretrainings and cells of a config, in order of execution."""

    variants: tuple[Variant, ...]
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]


def task_name(task: Pretraining | Cell) -> str:
    """Name of a task in the progress display."""
    if isinstance(task, Cell):
        return task.describe()
    return f"{task.variant.name} pretrain seed {task.seed}"
