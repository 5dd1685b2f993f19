"""`make size`: files, lines and tokens of every room, each beside its measure; fails where a room grows beyond it.

A token is one of Python's own tokenizer, without imports, docstrings, comments and line ends.
Other suites, counted by the same rule without their tests (November 2026), stand below for comparison.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Room(NamedTuple):
    """A part of the product, and the most lines and thousands of tokens that it may have."""

    title: str
    paths: tuple[str, ...]
    lines: int
    tokens: float
    allowed: tuple[int, float] | None = None
    """Lines and thousands of tokens of a room that is still above its measure: it may shrink, and not grow."""


ROOMS = (
    Room("methods", ("methods",), 3300, 21),
    Room("data, download", ("benchmark/data", "benchmark/cli/download.py"), 5700, 38),
    Room("training", ("benchmark/training",), 1400, 9.5),
    Room("run, machine, screen", ("benchmark/run", "benchmark/[mps]*.py"), 2100, 14),
    Room("results", ("benchmark/results",), 950, 6.5, (955, 6.5)),
    Room("reports", ("reports",), 3200, 21, (3200, 23.9)),
    Room("config", ("benchmark/config",), 1000, 6.6, (1030, 6.7)),
    Room("command line", ("run_benchmark.py", "benchmark/cli"), 2300, 15, (2350, 15.9)),
    Room("embedding, external", ("benchmark/embedding.py", "benchmark/external.py"), 560, 3.7),
)
"""A file counts in the first room that has it: `download` is a command of the data."""
PRODUCT = Room("product", ("run_benchmark.py", "methods", "benchmark", "reports"), 20_500, 136, (20_500, 136.8))
TESTS_LINES = 16_000
WORDS = (
    ("pages", ("docs/*.md",), 14_000),
    ("evidence", ("docs/evidence/*.md",), 8_000),
    ("changelog", ("CHANGELOG.md",), 1_500),
)
"""Title, pages and the most words."""
ANCHORS = {"DomainBed": 41, "benchopt": 39, "lightly": 73, "MOABB": 74}
"""Suite -> thousands of tokens."""
SKIPPED = ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER")


def python_files(*patterns: str) -> list[Path]:
    """List the Python files of folders, files and patterns below the root of the repository."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    return sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))


def lines_of(files: list[Path]) -> int:
    """Count the lines of some files."""
    return sum(file.read_text().count("\n") for file in files)


def tokens_of(text: str) -> int:
    """Count the tokens of a module, without imports, docstrings and comments."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(tokenize.tok_name[token.type] not in SKIPPED and token.start[0] not in skipped for token in tokens)


def show(room: Room, files: list[Path]) -> bool:
    """Print a room's line, with `>` where it is over its measure; return whether it has grown too large."""
    lines, tokens = lines_of(files), sum(tokens_of(file.read_text()) for file in files) / 1000
    mark = ">" if lines > room.lines or tokens > room.tokens else ""
    print(f"{room.title:22}{len(files):6}{lines:8,} of {room.lines:6,}{tokens:8.1f}k of {room.tokens:5}k {mark}")
    most_lines, most_tokens = room.allowed or (room.lines, room.tokens)
    return lines > most_lines or tokens > most_tokens


def main() -> int:
    """Print the table; return 1 where a room has grown beyond its measure."""
    print(f"{'':22}{'files':>6}{'lines':>8}   at most{'tokens':>9}   at most")
    grown, counted = [], set[Path]()
    for room in ROOMS:
        files = [file for file in python_files(*room.paths) if file not in counted]
        counted.update(files)
        grown += [room.title] if show(room, files) else []
    grown += [PRODUCT.title] if show(PRODUCT, python_files(*PRODUCT.paths)) else []
    tests = python_files("tests")
    print(f"{'tests':22}{len(tests):6}{lines_of(tests):8,} of {TESTS_LINES:6,}")
    for title, patterns, most in WORDS:
        pages = [page for pattern in patterns for page in ROOT.glob(pattern)]
        words = sum(len(re.findall(r"\S+", page.read_text())) for page in pages)
        print(f"{title:22}{len(pages):6}{words:8,} of {most:6,} words")
    print("\nBeside it: " + ", ".join(f"{name} {tokens}k" for name, tokens in ANCHORS.items()) + " tokens")
    for title in grown:
        print(f"{title}: larger than allowed; take lines out of the room, or say in the commit why it must grow")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
