"""How far a grid of tasks is, and how long the rest will take: arithmetic only, no clock and no terminal.

Every task has an estimated cost in any one unit; the time left is the cost that lies ahead times the seconds that a
unit of cost has taken so far. The seconds are those of the wall, so tasks that run side by side are counted right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEAST_SHARE = 0.002
"""Of all costs, to be worked off before the time left is told."""


@dataclass
class Tally:
    """What became of the tasks of a grid."""

    costs: Mapping[str, float]
    """Task -> estimated cost."""
    finished: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    running: dict[str, float] = field(default_factory=dict)
    """Task -> the part of it that is done, 0 to 1."""

    def worked(self) -> float:
        """Cost that was worked off: finished tasks, and the done parts of running ones."""
        parts = sum(self.costs[task] * part for task, part in self.running.items())
        return sum(self.costs[task] for task in self.finished) + parts

    def ahead(self) -> float:
        """Cost that still lies ahead: failed tasks do not."""
        return sum(self.costs.values()) - self.worked() - sum(self.costs[task] for task in self.failed)

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimate after `elapsed` seconds; None before enough has been worked off to measure by."""
        worked = self.worked()
        if worked <= LEAST_SHARE * sum(self.costs.values()):
            return None
        return max(0.0, self.ahead()) * elapsed / worked

    def counts(self) -> str:
        """'5 of 19 done, 13 left, 1 failed'."""
        left = len(self.costs) - len(self.finished) - len(self.failed)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{len(self.finished)} of {len(self.costs)} done, {left} left{failed}"


def duration(seconds: float) -> str:
    """'8 s', '12 min', '3 h 20 min', '2 d 4 h': as exact as an estimate deserves."""
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
