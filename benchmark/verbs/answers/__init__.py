"""The verb `known-answers`: runs on cohorts with a planted truth, and whether the suite finds it.

`answer` (what an answer is), `entries` (the answers, a file each), `plants` (altered cohorts), `planted` (methods that
only answers use), `pipeline` (an arm through the suite), `measure` (scores with intervals), `page`, `ask` (the verb).
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmark.config.command_line.flags import WHAT, WHERE
from benchmark.config.command_line.paths import file_to_write, folder
from benchmark.config.command_line.verb import Flag, Verb
from benchmark.screen.console import Console

PAGE, WORK = Path("docs") / "KNOWN_ANSWERS.md", Path("known-answers")


def known_answers(arguments: Namespace, console: Console) -> int:
    """Run the answers, print their findings and write the page; FAILED if one is not as planted."""
    from benchmark.verbs.answers.ask import ask  # here, because torch loads slowly

    return ask(arguments.only or [], arguments.work, arguments.page, console)


KNOWN_ANSWERS = Verb(
    "run on data with a planted truth, and say whether it is found",
    known_answers,
    {
        "--only": Flag(
            WHAT,
            "these answers; size runs only if it is named",
            how={"nargs": "+", "metavar": "ANSWER"},
        ),
        "--work": Flag(
            WHERE, f"store of the answers' runs, which are not repeated ({WORK})",
            how={"type": folder, "default": str(WORK), "metavar": "DIR"},
        ),
        "--page": Flag(
            WHERE, f"page that is written ({PAGE})",
            how={"type": file_to_write, "default": str(PAGE), "metavar": "FILE"},
        ),
    },
    examples={
        "known-answers": "all but size, about an hour on one core",
        "known-answers --only leak power": "two of them",
    },
)  # fmt: skip
