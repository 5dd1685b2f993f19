"""The verb `explain`: all that made a number of the tables, from its row, its plan and its encoder's card."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import shared
from benchmark.config.command_line.verb import OK, Verb
from benchmark.screen.console import Console, note

CELL = "CELL"
CELL_HELP = "row, evaluation, dataset, ratio and seed in any order, as far as they are needed, or the start of a key"


def explain(arguments: Namespace, console: Console) -> int:
    """Print the lines. Raises ConfigError in one line for a name of no cell or of several, NoResults, CorruptRow."""
    from benchmark.results.store import Store  # here, because numpy and pandas load slowly
    from benchmark.verbs.explain.find import find_cell
    from benchmark.verbs.explain.lines import explained

    found = find_cell(arguments.results, " ".join(arguments.word))
    for line in explained(found, Store(arguments.results)):
        note(console, line)
    return OK


EXPLAIN = Verb(
    "all that made a number: settings, key, encoder, data, code, machine, files",
    explain,
    shared("--results"),
    word=CELL,
    word_help=CELL_HELP,
    several=True,
    examples={
        "explain pmq finetune chapman 0.1 seed 41": "by the names of the tables",
        "explain pmq chapman 10% 41": "in any order, with parts left out",
        "explain 3f2a91": "by the start of its key",
    },
)
