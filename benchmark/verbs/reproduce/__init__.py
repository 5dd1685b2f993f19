"""The verb `reproduce`: a cell run again from its row, in a fresh place, and compared with what the store holds."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import DATA, HOW, shared
from benchmark.config.command_line.paths import folder
from benchmark.config.command_line.values import device_of, place_of
from benchmark.config.command_line.verb import FAILED, OK, Flag, Verb
from benchmark.screen.console import Console, note
from benchmark.verbs.explain import CELL, CELL_HELP


def reproduce(arguments: Namespace, console: Console) -> int:
    """Run the cell again and say what is equal; OK if all is, to the bit.

    Raises ConfigError in one line for a name of no cell or several, and for a row that cannot be run again here;
    DatasetError for data that are not there, NoResults, CorruptRow.
    """
    from benchmark.results.store import Store  # here, because torch loads slowly
    from benchmark.verbs.explain.find import find_cell
    from benchmark.verbs.reproduce.again import run_again
    from benchmark.verbs.reproduce.asked import asked_of
    from benchmark.verbs.reproduce.compare import told

    device_of(arguments)  # what cannot be is refused before the store is read
    place = place_of(arguments)
    store = Store(arguments.results)
    found = find_cell(arguments.results, " ".join(arguments.word))
    asked = asked_of(found, store, arguments)
    with run_again(asked, store, place, console) as fresh:
        lines, equal = told(found.row, store, fresh, pretrained=asked.pretraining)
        for line in lines:
            note(console, line)
    return OK if equal else FAILED


REPRODUCE = Verb(
    "run a cell again from its row, in a fresh place, and say what is equal",
    reproduce,
    {
        **shared("--results", *DATA, "--cache", "--device", "--workers", "--code"),
        "--pretraining": Flag(
            HOW, "pretrain its encoder again too, instead of taking the stored one", how={"action": "store_true"}
        ),
        "--keep": Flag(
            HOW,
            "an empty or new folder for what is made again, as a store; without it, that is removed",
            how={"type": folder, "metavar": "FOLDER"},
        ),
    },
    word=CELL,
    word_help=CELL_HELP,
    several=True,
    examples={
        "reproduce pmq finetune chapman 0.1 seed 41": "with the stored encoder",
        "reproduce 3f2a91 --pretraining": "with an encoder that is pretrained again",
        "reproduce 3f2a91 --data-root /data --keep again": "on real datasets; keep what was made",
    },
)
