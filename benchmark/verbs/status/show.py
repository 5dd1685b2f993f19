"""Print how far a grid is: a line, a table of its rows, its jobs, what runs, what has failed."""

from __future__ import annotations

from benchmark.results.names import command
from benchmark.screen.console import Console, note
from benchmark.screen.tables import print_table
from benchmark.verbs.status.look import FAILED, MISSING, STATES, State

MOST_SHOWN = 10
"""Failures, jobs and running processes that are listed."""


def show(console: Console, state: State) -> None:
    """Print all of it."""
    note(console, as_line(state))
    columns = [("", "", "label"), *(("", name, "right") for name in STATES)]
    rows = [[title, *(str(counts[name] or "") for name in STATES)] for title, counts in state.rows.items()]
    print_table(console, columns, [rows])
    listed(console, [f"job {job.id}: {job.state or 'submitted'}, {what(job.cells)}" for job in state.jobs])
    listed(console, [f"running: {key} ({holder})" for key, holder in state.running.items()])
    listed(
        console,
        [
            f"held: {key} by {claim.holder}, not renewed for {claim.silent:.0f} s: it has most likely ended"
            for key, claim in state.silent.items()
        ],
    )
    listed(console, [f"failed: {name}: {error}" for name, error in state.failures.items()])
    if state.total[FAILED]:
        note(console, "the command that began this grid tries again what has failed")
    elif state.total[MISSING] and not state.running and not state.jobs:
        note(
            console,
            f"nothing works on the rest; the command that began this grid ({command()} ...) goes on",
        )


def as_line(state: State) -> str:
    """'12 of 36 cells done, 2 running, 4 queued, 18 to do'."""
    total = state.total
    others = [f"{total[name]} {name}" for name in STATES[1:] if total[name]]
    return ", ".join([f"{total[STATES[0]]} of {sum(total.values())} cells done", *others])


def what(cells: int) -> str:
    """What a job does."""
    return f"{cells} cells" if cells else "a pretraining"


def listed(console: Console, lines: list[str]) -> None:
    """Print some lines, and how many more there are."""
    for line in lines[:MOST_SHOWN]:
        note(console, line)
    if len(lines) > MOST_SHOWN:
        note(console, f"... and {len(lines) - MOST_SHOWN} more")
