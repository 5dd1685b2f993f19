"""Failed and damaged cells of a run, grouped by error, with the first traceback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.results.failures import Failure
from benchmark.results.plan import PlannedCell
from reports.runs.run import Run


@dataclass(frozen=True)
class Unfinished:
    """One error, and the cells that ended in it."""

    state: str
    """'failed' or 'damaged'."""
    error: str
    """One line; a cell's own key is replaced by KEY, so that equal errors group."""
    traceback: str
    """Of the first cell; '' if not stored."""
    cells: tuple[PlannedCell, ...]


def unfinished(run: Run, cells: Sequence[PlannedCell]) -> Iterator[Unfinished]:
    """One per error, in the order of the cells."""
    groups: dict[tuple[str, str], dict[PlannedCell, str]] = {}
    for cell in cells:
        if cell.key in run.failures:
            state, failure = "failed", run.failures[cell.key]
        elif cell.key in run.damaged:
            state, failure = "damaged", Failure(run.damaged[cell.key])
        else:
            continue
        error = failure.line.replace(cell.key, "KEY")
        groups.setdefault((state, error), {})[cell] = failure.traceback.strip()
    for (state, error), tracebacks in groups.items():
        yield Unfinished(state, error, next(iter(tracebacks.values())), tuple(tracebacks))
