"""Which cells and pretrainings of a grid a store does not hold, and in which order they are done."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from benchmark.results.cards import BadCard
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import stored_row
from benchmark.run.grid.cells import Cell, Grid, Pretraining
from benchmark.run.work.stored import is_made

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """The part of a grid that is missing from the store."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    """One line per damaged row or pretraining, which is recomputed."""


def missing(grid: Grid, store: Store) -> Work:
    """Cells without an intact row, and the pretrainings they need that are not stored."""
    damaged: list[str] = []
    cells = []
    for cell in grid.cells:
        try:
            done = stored_row(cell, store) is not None
        except CorruptRow as error:
            damaged.append(str(error))
            done = False
        if not done:
            cells.append(cell)
    needed = {cell.pretraining.key: cell.pretraining for cell in cells if cell.pretraining}
    pretrainings = []
    for pretraining in needed.values():
        try:
            done = is_made(pretraining, store)
        except BadCard as error:
            damaged.append(str(error))
            done = False
        if not done:
            pretrainings.append(pretraining)
    return Work(grid, tuple(pretrainings), tuple(in_turn(cells)), tuple(damaged))


def in_turn(cells: Iterable[Cell]) -> list[Cell]:
    """Each cell once, in the order of work: dataset by dataset, of each the compared rows before the gates.

    So the first column of a table can be read early. A cell that is a gate in one table and compared in another counts
    as compared.
    """
    unique: dict[str, Cell] = {}
    for cell in cells:
        if not (cell.gate and cell.key in unique):
            unique[cell.key] = cell
    datasets = {name: place for place, name in enumerate(dict.fromkeys(cell.dataset for cell in unique.values()))}
    return sorted(unique.values(), key=lambda cell: (datasets[cell.dataset], bool(cell.gate)))
