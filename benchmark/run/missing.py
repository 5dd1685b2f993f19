"""Which cells and pretrainings of a grid a store does not hold, and in which order they are done."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from benchmark.config.config import Config
from benchmark.data.prepared.load import Prepared
from benchmark.results.cards import BadCard, vouched
from benchmark.results.names import CARD
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import stored_row
from benchmark.run.grid import NONE, Cell, Grid, Pretraining, expand
from benchmark.run.machine import Machine
from benchmark.run.stored_keys import as_stored, stored_pretrainings
from benchmark.run.variants import Variant
from benchmark.training.weights import checked_card, other_encoder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """The part of a grid that is missing from the store."""

    grid: Grid
    pretrainings: tuple[Pretraining, ...]
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    """One line per damaged row or pretraining, which is recomputed."""


def make_grid(
    config: Config,
    prepared: Mapping[str, Prepared],
    machine: Machine,
    store: Store | None = None,
    variants: tuple[Variant, ...] | None = None,
    forms: Mapping[tuple[str, str], Prepared] = NONE,
) -> Grid:
    """The grid of a config on prepared data; pretrainings that `store` holds under an earlier form keep their key.

    variants: rows in place of those of the config; forms: as in `expand`.
    """
    fingerprints = {column.name: prepared[column.name].fingerprint for column in config.data.columns()}
    form = partial(as_stored, stored=stored_pretrainings(store) if store else {})
    corpus = prepared[config.data.pretrain].fingerprint
    simulated = {name for name, data in prepared.items() if data.simulated}
    return expand(
        config,
        corpus=corpus,
        fingerprints=fingerprints,
        mode=machine.mode(),
        form=form,
        simulated=simulated,
        variants=variants,
        forms=forms,
    )


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


def is_made(pretraining: Pretraining, store: Store) -> bool:
    """Whether a pretraining's encoder is stored. Raises BadCard where a file is damaged or of another pretraining."""
    folder = store.pretrained / pretraining.key
    card = checked_card(folder)
    if card is None:
        return False
    if problem := other_encoder(card["encoder"], pretraining.content["encoder"]):
        raise BadCard(f"{folder / CARD}: {problem}")
    if not vouched(card):
        if (card.get("method"), card.get("seed")) != (pretraining.method.name, pretraining.seed):
            raise BadCard(f"{folder / CARD}: this is the card of another pretraining")
        log.warning("%s was written before cards held their key: whose it is cannot be checked", folder / CARD)
    return True


def is_finished(task: Pretraining | Cell, store: Store) -> bool:
    """Whether a task's result is stored whole."""
    try:
        return is_made(task, store) if isinstance(task, Pretraining) else stored_row(task, store) is not None
    except (BadCard, CorruptRow):
        return False


def task_name(task: Pretraining | Cell) -> str:
    """Name of a task in the progress display."""
    if isinstance(task, Cell):
        return task.describe()
    return f"{task.variant.name} pretrain seed {task.seed}"
