"""Writes the curves of a grid to the trackers that were asked for, each point once.

A tracker says how far it is; only later points are written. A pretraining that is resumed gives the same bits, so that
what it tells again is left out. A tracker that fails is left alone for the rest of the run, with a note: tracking never
stops the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmark.results.files.together import alone_in
from benchmark.results.store import CorruptRow, Store
from benchmark.run.curves.points import Curve, Point, curve_of
from benchmark.run.grid.cells import Cell, Grid, Pretraining, task_name
from benchmark.run.work.claims import CLAIMS, Claims
from benchmark.trackers.tracker import Log, Tracker

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
            stack.enter_context(alone_in(out))
            tracked.catch_up()
    try:
        yield tracked
    finally:
        tracked.close()
