"""Progress and remaining time of a grid of tasks: arithmetic only, no clock and no terminal.

Every task has expected seconds and a kind. How much longer a kind takes than expected is learned from its finished
tasks; of a kind without any, from earlier runs, else from the other kinds, and then the time left is a range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

LEAST_SHARE = 0.02
"""Share of a kind's expected seconds that is to be done before the kind is known."""
UNSURE = 2.0
"""Factor by which a kind that is not known may take more or less than expected."""
START_SECONDS = 10.0
"""Expected seconds up to which a kind's rate tells more of what every task costs at its start than of other kinds."""
LEAST_RATE = 1e-6
"""For the logarithm of a rate: a clock may tell that a task took no time."""
ABOUT = 1.3
"""Ratio of the ends of a range up to which it is told as one number."""


class Cost(NamedTuple):
    """What a task is expected to take."""

    seconds: float
    """On its own."""
    kind: str = ""
    """Tasks of one kind are alike in how far they are from what is expected."""
    abreast: int = 1
    """Tasks of the kind that run at once."""


@dataclass
class Tally:
    """Progress of a grid: finished, failed and running tasks with their expected costs."""

    costs: Mapping[str, Cost]
    """Task -> what it is expected to take."""
    earlier: Mapping[str, float] = field(default_factory=dict)
    """Kind -> seconds per expected second in earlier runs."""
    finished: dict[str, float] = field(default_factory=dict)
    """Task -> seconds it took."""
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Done by another runner."""
    running: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Task -> share done, 0 to 1, and the seconds since it began when that was told."""

    def worked(self) -> float:
        """Expected seconds done: finished tasks, and the done shares of running ones."""
        parts = sum(self.costs[task].seconds * share for task, (share, _) in self.running.items())
        return sum(self.costs[task].seconds for task in (*self.finished, *self.elsewhere)) + parts

    def total(self) -> float:
        """Expected seconds of all tasks."""
        return sum(cost.seconds for cost in self.costs.values())

    def through(self) -> float:
        """Expected seconds of what no longer lies ahead: done, or failed."""
        return self.total() - sum(self._ahead().values())

    def seconds_left(self) -> tuple[float, float] | None:
        """Least and most seconds left; None while nothing is known of any kind."""
        rates = {**self.earlier, **self._rates()}
        if not rates:
            return None
        ahead = self._ahead()
        around = self._around(rates)
        least = most = 0.0
        for (kind, abreast), seconds in ahead.items():
            rate, unsure = (rates[kind], 1.0) if kind in rates else (around, UNSURE)
            least += seconds * rate / unsure / abreast
            most += seconds * rate * unsure / abreast
        own = self.worked() - sum(self.costs[task].seconds for task in self.elsewhere)
        share = own / self.worked() if own > 0 else 1.0  # others do the rest of what is ahead
        return least * share, most * share

    def counts(self) -> str:
        """Counts as text: '5 of 19 done, 13 left, 1 failed'."""
        done = len(self.finished) + len(self.elsewhere)
        others = f" ({len(self.elsewhere)} by other runners)" if self.elsewhere else ""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{done} of {len(self.costs)} done{others}, {len(self.costs) - done - len(self.failed)} left{failed}"

    def _ahead(self) -> dict[tuple[str, int], float]:
        """Kind and tasks at once -> expected seconds left, without failed tasks."""
        over = {*self.finished, *self.failed, *self.elsewhere}
        ahead: dict[tuple[str, int], float] = {}
        for task, cost in self.costs.items():
            if task not in over:
                share, _ = self.running.get(task, (0.0, 0.0))
                key = cost.kind, cost.abreast
                ahead[key] = ahead.get(key, 0.0) + cost.seconds * (1 - share)
        return ahead

    def _rates(self) -> dict[str, float]:
        """Kind -> seconds per expected second, of the kinds of which enough is done."""
        took, expected = self._parts()
        whole: dict[str, float] = {}
        for cost in self.costs.values():
            whole[cost.kind] = whole.get(cost.kind, 0.0) + cost.seconds
        return {kind: took[kind] / own for kind, own in expected.items() if own > LEAST_SHARE * whole[kind]}

    def _parts(self) -> tuple[dict[str, float], dict[str, float]]:
        """Kind -> seconds taken, and kind -> seconds expected, of what is done in this process."""
        took: dict[str, float] = {}
        expected: dict[str, float] = {}
        parts = {task: (1.0, seconds) for task, seconds in self.finished.items()}
        for task, (share, seconds) in (parts | {task: part for task, part in self.running.items() if part[0]}).items():
            cost = self.costs[task]
            took[cost.kind] = took.get(cost.kind, 0.0) + seconds
            expected[cost.kind] = expected.get(cost.kind, 0.0) + share * cost.seconds
        return took, expected

    def _around(self, rates: Mapping[str, float]) -> float:
        """The rate that is expected of a kind without one: the geometric mean of the others, each as one.

        One that was learned from short tasks is drawn towards 1.
        """
        expected = self._parts()[1]
        short = {kind: own / (own + START_SECONDS) for kind, own in expected.items() if kind not in self.earlier}
        logs = [math.log(max(rate, LEAST_RATE)) * short.get(kind, 1.0) for kind, rate in rates.items()]
        return math.exp(sum(logs) / len(logs))


def left(bounds: tuple[float, float] | None) -> str:
    """A time left as text: 'about 12 min left', '5 min to 12 min left', 'time left not known yet'."""
    if bounds is None:
        return "time left not known yet"
    least, most = bounds
    if most <= ABOUT * least or duration(least) == duration(most):
        return f"about {duration((least * most) ** 0.5)} left"
    return f"{duration(least)} to {duration(most)} left"


def duration(seconds: float) -> str:
    """Seconds as text: '8 s', '12 min', '3 h 20 min', '2 d 4 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"
