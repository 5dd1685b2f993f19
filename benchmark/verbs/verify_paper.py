"""The verb `verify-paper`: check the PMQ paper's numbers and claims and compare the results store."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import shared
from benchmark.config.command_line.verb import OK, Verb
from benchmark.screen.console import Console, note


def verify_paper(arguments: Namespace, console: Console) -> int:
    """Run the checks, print the findings and the paths of the files."""
    from benchmark.screen.tables import (
        print_sheet,
    )  # here, because --help has no use for it and scipy.stats loads slowly
    from reports.paper.write import verification_sheet
    from reports.paper.write import verify_paper as verify

    found = verify(arguments.out, arguments.results)
    print_sheet(console, *verification_sheet(found.verification))
    note(console, "")
    for file in found.files:
        note(console, f"wrote {file}")
    return OK


VERIFY_PAPER = Verb(
    "check the PMQ paper's printed tables and claims, and lay the results store beside them",
    verify_paper,
    shared("--results", "--out"),
    examples={"verify-paper": "the paper's own numbers, checked"},
)
