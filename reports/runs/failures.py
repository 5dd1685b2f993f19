"""Cells of a run that have no row to show: which ended in which error, and what was kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.results.plan import PlannedCell
from benchmark.results.rows import Failure
from reports.runs.load import Results


@dataclass(frozen=True)
class Unfinished:
    """One error, and the cells that ended in it."""

    state: str
    """'failed' or 'damaged'."""
    error: str
    """One line; KEY stands for a cell's own key, so that alike errors are one."""
    traceback: str
    """Of the first cell; '' where none was kept."""
    cells: tuple[PlannedCell, ...]


def unfinished(results: Results, cells: Sequence[PlannedCell]) -> Iterator[Unfinished]:
    """One per error, in the order of the cells."""
    groups: dict[tuple[str, str], dict[PlannedCell, str]] = {}
    for cell in cells:
        if cell.key in results.failures:
            state, failure = "failed", results.failures[cell.key]
        elif cell.key in results.damaged:
            state, failure = "damaged", Failure(results.damaged[cell.key])
        else:
            continue
        error = last_line(failure.error).replace(cell.key, "KEY")
        groups.setdefault((state, error), {})[cell] = failure.traceback.strip()
    for (state, error), tracebacks in groups.items():
        yield Unfinished(state, error, next(iter(tracebacks.values())), tuple(tracebacks))


def last_line(error: str) -> str:
    """What an error of several lines ends with."""
    return (error.strip().splitlines() or ["no error text"])[-1]
