"""What a store says of one task: that its result is there whole, or how it failed."""

from __future__ import annotations

import logging
from pathlib import Path

from benchmark.results.cards import BadCard, vouched
from benchmark.results.failures import Failure
from benchmark.results.names import CARD, ERROR
from benchmark.results.store import CorruptRow, Store
from benchmark.run.cell import stored_row
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.training.weights import checked_card, other_encoder

log = logging.getLogger(__name__)

Failed = tuple[int, int] | None
"""Time and inode of a failure's file; None if there is none."""


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


def failure_file(task: Pretraining | Cell, store: Store) -> Path:
    """Where a task's failure is stored."""
    return store.failure_file(task.key) if isinstance(task, Cell) else store.pretrained / task.key / ERROR


def failed(file: Path) -> Failed:
    """Time and inode of a failure's file."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino


def save_failure(task: Pretraining | Cell, failure: Failure, store: Store) -> Path:
    """Store a task's failure; returns its file."""
    save = store.save_failure if isinstance(task, Cell) else store.save_pretraining_failure
    return save(task.key, task_name(task), failure.error, failure.traceback)
