"""Progress and remaining time of a grid of tasks: arithmetic only, no clock and no terminal.

Every task has an estimated cost in any one unit; the time left is the remaining cost times the wall-clock seconds per
unit of cost so far, which accounts for tasks that run in parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEAST_SHARE = 0.002
"""Share of the total cost to be done before the time left is estimated."""


@dataclass
class Tally:
    """Progress of a grid: finished, failed and running tasks with their estimated costs."""

    costs: Mapping[str, float]
    """Task -> estimated cost."""
    finished: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Done by another runner."""
    running: dict[str, float] = field(default_factory=dict)
    """Task -> share done, 0 to 1."""

    def worked(self) -> float:
        """Cost done: finished tasks, and the done shares of running ones."""
        parts = sum(self.costs[task] * part for task, part in self.running.items())
        return sum(self.costs[task] for task in (*self.finished, *self.elsewhere)) + parts

    def ahead(self) -> float:
        """Remaining cost, without failed tasks."""
        return sum(self.costs.values()) - self.worked() - sum(self.costs[task] for task in self.failed)

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimated seconds left after `elapsed` seconds; None before `LEAST_SHARE` of the cost is done."""
        worked = self.worked()
        if worked <= LEAST_SHARE * sum(self.costs.values()):
            return None
        return max(0.0, self.ahead()) * elapsed / worked

    def counts(self) -> str:
        """Counts as text: '5 of 19 done, 13 left, 1 failed'."""
        done = len(self.finished) + len(self.elsewhere)
        others = f" ({len(self.elsewhere)} by other runners)" if self.elsewhere else ""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{done} of {len(self.costs)} done{others}, {len(self.costs) - done - len(self.failed)} left{failed}"


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
