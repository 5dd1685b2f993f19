"""Notes and errors on the terminal; plain lines without escape codes elsewhere. `NO_COLOR` is honoured."""

from __future__ import annotations

import re
from typing import TextIO

from rich.console import Console as Console  # callers name the type without knowing rich
from rich.text import Text

PIPE_WIDTH = 120


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but tabs and ends of lines."""


STYLES = {"title": "bold", "block": "cyan", "best": "bold green", "gate": "italic", "faint": "dim", "": ""}
"""Role of a span of text -> how it looks."""


def open_console(file: TextIO | None = None, width: int | None = None) -> Console:
    """A console on stdout or on `file`, which takes text literally; 120 columns wide where it is no terminal."""
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    if width is None and not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def note(console: Console, line: str) -> None:
    """One line of news, left whole so that it can be searched for and copied."""
    console.print(harmless(line), soft_wrap=True)


def error(line: str) -> None:
    """One line on stderr, left whole."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    console.print(Text.assemble(("error: ", "bold red"), harmless(line)), soft_wrap=True)


def harmless(text: str) -> str:
    """The text with control characters as ?, so that a label or title from elsewhere cannot steer the terminal."""
    return CONTROL.sub("?", text)
