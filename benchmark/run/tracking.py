"""The training curves of a grid, written to trackers, each point once.

The process that runs the grid writes them to trackers (benchmark.trackers), never one that trains. So curves move no
number and no key, and what was stored without a tracker, or by another runner, can be written later.

A pretraining has a point after each epoch, at the number of updates done: loss (mean of the epoch), learning rate (of
its last update) and the measures of health; at 0 the health of the untrained encoder. A fine-tuned cell has its
validation macro-F1 after each epoch, one trained from scratch its loss.

A tracker says how far it is; only later points are written. A pretraining that is resumed gives the same bits, so that
what it tells again is left out. A tracker that fails is left alone for the rest of the run, with a note: tracking never
stops the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.results.files import folder_lock
from benchmark.results.names import FINETUNE, SUPERVISED
from benchmark.results.store import CorruptRow, Store
from benchmark.run.claims import CLAIMS, Claims
from benchmark.run.grid import Cell, Grid, Pretraining, task_name
from benchmark.trackers import Log, Tracker
from benchmark.training.checkpoint import read_card
from benchmark.training.pretrain import learning_rate
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


Note = Callable[[str], None]


class Tracking:
    """The curves of one grid in some trackers."""

    def __init__(self, trackers: Sequence[Tracker], grid: Grid, store: Store, note: Note) -> None:
        self._working = list(trackers)
        tasks: list[Pretraining | Cell] = [*grid.pretrainings, *grid.cells]
        self._tasks = {task.key: task for task in tasks}
        self._store = store
        self._note = note
        self._open: dict[tuple[str, str], Log] = {}
        self._last: dict[tuple[str, str], int] = {}

    def learned(self, key: str, points: Sequence[Point]) -> None:
        """Write what is new of a running pretraining; `points`: all since its first epoch."""
        task = self._tasks[key]
        self._write(Curve(key, task_name(task), task.content, tuple(points)), end=False)

    def stored(self, key: str) -> None:
        """Write what is not yet there of a finished task, and close its curve."""
        try:
            curve = curve_of(self._tasks[key], self._store)
        except (CorruptRow, ValueError):  # damaged: named and computed again by the next run
            return
        if curve:
            self._write(curve, end=True)

    def catch_up(self) -> None:
        """Write what is not yet there of all finished tasks, but for those that a runner still holds and writes."""
        claims = Claims(self._store.root / CLAIMS)
        for key in self._tasks if self._working else ():
            if not claims.holder(key):
                self.stored(key)

    def close(self) -> None:
        """Close the curves of tasks that have not ended."""
        for tracker in list(self._working):
            for name, key in [place for place in self._open if place[0] == tracker.name]:
                with self._kept(tracker):
                    self._open.pop((name, key)).finish()

    def _write(self, curve: Curve, *, end: bool) -> None:
        for tracker in list(self._working):
            with self._kept(tracker):
                self._write_to(tracker, curve, end=end)

    def _write_to(self, tracker: Tracker, curve: Curve, *, end: bool) -> None:
        place = tracker.name, curve.key
        if place not in self._last:
            self._last[place] = tracker.last(curve.key)
        new = [(step, values) for step, values in curve.points if step > self._last[place]]
        if new and place not in self._open:
            self._open[place] = tracker.start(curve.name, curve.key, curve.config)
        for step, values in new:
            self._open[place].log(step, values)
            self._last[place] = step
        if end and place in self._open:
            self._open.pop(place).finish()

    @contextmanager
    def _kept(self, tracker: Tracker) -> Iterator[None]:
        """Context whose error ends the tracker's part in this run, with a note."""
        try:
            yield
        except Exception as error:
            self._working.remove(tracker)
            said = " ".join(f"{type(error).__name__}: {error}".split())
            again = f"the same command with --track {tracker.name} writes what is missing"
            self._note(f"warning: {tracker.name} failed and gets no more curves ({said}); {again}")


@contextmanager
def tracking(trackers: Sequence[Tracker], grid: Grid, store: Store, out: Path, note: Note) -> Iterator[Tracking]:
    """The curves of a grid while it is worked on: those of what is stored are written first, then as tasks go on.

    Of several runners with one folder `out`, one at a time writes what is stored.
    """
    tracked = Tracking(trackers, grid, store, note)
    with ExitStack() as stack:
        if trackers:
            stack.enter_context(folder_lock(out))
            tracked.catch_up()
    try:
        yield tracked
    finally:
        tracked.close()
