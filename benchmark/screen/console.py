"""Notes and errors on the terminal; plain lines without escape codes elsewhere. `NO_COLOR` is honoured."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console as Console  # callers name the type without knowing rich
from rich.text import Text

from benchmark.screen.harmless import harmless

PIPE_WIDTH = 120


STYLES = {"title": "bold", "block": "cyan", "best": "bold green", "gate": "italic", "faint": "dim", "": ""}
"""Role of a span of text -> rich style."""


def open_console(file: TextIO | None = None, width: int | None = None) -> Console:
    """A console on stdout or `file`, without markup; 120 columns wide if it is no terminal."""
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    if width is None and not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def note(console: Console, line: str) -> None:
    """Print one line unwrapped, so that it can be searched and copied."""
    console.print(harmless(line), soft_wrap=True)


def error(line: str) -> None:
    """Print one error line unwrapped on stderr."""
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    console.print(Text.assemble(("error: ", "bold red"), harmless(line)), soft_wrap=True)
