"""The verb `check-method`: whether a method keeps what a method promises."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from benchmark.config.errors import ConfigError
from benchmark.config.verb import FAILED, OK, Verb
from benchmark.screen.console import Console, note

if TYPE_CHECKING:
    from benchmark.verbs.contract.check import Verdict


def check(arguments: Namespace, console: Console) -> int:
    """One line per promise. Raises ConfigError where there is no such method."""
    from benchmark.verbs.contract.check import check_method  # here, because torch loads slowly
    from methods import get_method

    try:
        kind = get_method(arguments.word)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return print_verdicts(check_method(kind), console)


def print_verdicts(verdicts: Iterable[Verdict], console: Console) -> int:
    """A line as soon as a promise is tried; returns the exit status, FAILED where one is broken."""
    kept = True
    for verdict in verdicts:
        note(console, str(verdict))
        kept &= verdict.kept
    return OK if kept else FAILED


CHECK_METHOD = Verb(
    "whether a method, or the one defined in a file, keeps what a method promises",
    check,
    word="NAME|FILE",
    word_help="a method of `list`, or a .py file that defines one",
    examples={"check-method ./mine.py": "what a method of one's own has to hold to"},
)
