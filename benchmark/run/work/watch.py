"""Whom a runner tells of its progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmark.run.curves.points import Point


@dataclass(frozen=True)
class Learned:
    """The curve of a running pretraining, told after each epoch; picklable."""

    key: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Watch:
    """Callbacks that report progress; tasks are named by `task_name`."""

    started: Callable[[str], None]
    inner: Callable[[str, int, int, str], None]
    finished: Callable[[str, float | None], None]
    """(name, seconds); None: measure from `started`."""
    failed: Callable[[str, str], None]
    elsewhere: Callable[[str], None]
    """A task that another runner has finished."""
    waiting: Callable[[str], None]
    """Called again and again while all that is left is with other runners."""
    note: Callable[[str], None]
    learned: Callable[[str, Sequence[Point]], None] = lambda key, points: None
    """(key, all points so far) of a running pretraining, after each epoch."""
    stored: Callable[[str], None] = lambda key: None
    """The key of a task that this runner has finished and still holds."""

    def told(self, news: Learned | tuple[str, int, int, str]) -> None:
        """What a running job tells."""
        if isinstance(news, Learned):
            self.learned(news.key, news.points)
        else:
            self.inner(*news)


def quiet(*said: object) -> None:
    """Hears and says nothing."""


QUIET = Watch(quiet, quiet, quiet, quiet, quiet, quiet, quiet)
"""Nobody is told."""
