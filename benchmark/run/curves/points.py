"""The training curves of a task, from what the store or a running pretraining holds. Pure functions.

A pretraining has a point after each epoch, at the number of updates done: loss (mean of the epoch), learning rate (of
its last update) and the measures of health; at 0 the health of the untrained encoder. A fine-tuned cell has its
validation macro-F1 after each epoch, one trained from scratch its loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.results.names import FINETUNE, SUPERVISED
from benchmark.results.store import Store
from benchmark.run.grid.cells import Cell, Pretraining, task_name
from benchmark.training.schedule import learning_rate
from benchmark.training.weights import read_card
from methods.base import Recipe

LOSS, RATE, HEALTH, VALIDATION_F1 = (
    "pretraining/loss",
    "pretraining/learning_rate",
    "health",
    "finetuning/validation_f1",
)
PER_EPOCH = {FINETUNE: ("validation_f1", VALIDATION_F1), SUPERVISED: ("loss", "supervised/loss")}
"""Evaluation -> what its rows' training holds for each epoch, and its name."""
Point = tuple[int, dict[str, float]]
"""Step, and name -> value."""


@dataclass(frozen=True)
class Curve:
    """The points of a task, steps rising."""

    key: str
    name: str
    config: Mapping[str, Any]
    """What the key is the digest of."""
    points: tuple[Point, ...]


def pretraining_points(history: Mapping[str, Any], recipe: Recipe) -> list[Point]:
    """The points of a card, or of the history of a running pretraining; none of an untrained encoder.

    Cards may be of others (`check_card`): one without sizes has no points.
    """
    if not history.get("loss") or not history.get("updates") or not history["batch_size"]:
        return []
    total, per_epoch = history["updates"], max(1, history["windows_per_epoch"] // history["batch_size"])
    points: dict[int, dict[str, float]] = {}
    for health in history.get("health", []):
        told = {f"{HEALTH}/{name}": value for name, value in health.items() if name != "epoch" and value is not None}
        points[min(total, int(health.get("epoch") or 0) * per_epoch)] = told
    for epoch, loss in enumerate(history["loss"], start=1):
        step = min(total, epoch * per_epoch)
        told = {LOSS: loss, RATE: learning_rate(recipe, step - 1, total, per_epoch)}
        points[step] = told | points.get(step, {})
    return [(step, points[step]) for step in sorted(points) if points[step]]


def curve_of(task: Pretraining | Cell, store: Store) -> Curve | None:
    """The curve of a finished task; None for one that is not stored whole, or has none. Raises CorruptRow."""
    points: list[Point] = []
    if isinstance(task, Pretraining):
        if card := read_card(store.pretrained / task.key):
            points = pretraining_points(card, task.variant.config.recipe)
    elif task.evaluation in PER_EPOCH and (row := store.load_row(task.key)):
        what, name = PER_EPOCH[task.evaluation]
        points = [(epoch, {name: value}) for epoch, value in enumerate(row.training.get(what, []), start=1)]
    return Curve(task.key, task_name(task), task.content, tuple(points)) if points else None
