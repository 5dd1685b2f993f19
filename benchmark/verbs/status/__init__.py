"""The verb `status`: how far a grid is, from any shell: what is done, runs, waits in a cluster's queue, has failed."""

from __future__ import annotations

import time
from argparse import Namespace

from benchmark.config.command_line.flags import HOW, shared
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.screen.console import Console

LOOK_SECONDS = 5.0
"""Between two looks with --watch."""


def status(arguments: Namespace, console: Console) -> int:
    """Print the state of the latest plan, with --watch until nothing is left. Raises NoResults without a plan."""
    from benchmark.results.store import Store
    from benchmark.verbs.status.held import Sights
    from benchmark.verbs.status.look import look
    from benchmark.verbs.status.show import as_line, show

    store, sights, told = Store(arguments.results), Sights(), ""
    while True:
        state = look(store, sights)
        if arguments.watch and console.is_terminal:
            console.clear()
        if not arguments.watch or console.is_terminal:
            show(console, state)
        elif (line := as_line(state)) != told:
            told = line
            console.print(line, soft_wrap=True)
        if not arguments.watch or not state.left:
            return OK
        time.sleep(LOOK_SECONDS)


STATUS = Verb(
    "how far the grid of a results store is, also while other shells or a cluster work on it",
    status,
    {
        **shared("--results"),
        "--watch": Flag(HOW, "look again and again, until nothing is left", how={"action": "store_true"}),
    },
    examples={"status": "what is done, runs, waits and has failed", "status --watch": "the same, live"},
)
