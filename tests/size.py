"""`make size`: files and tokens of every room beside the most tokens it may have; fails where a room grows beyond them.

A token is one of Python's own tokenizer, without imports, docstrings, comments and line ends: lines are not measured,
since a limit on lines asks for packed statements.
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
    """A part of the product, and the most thousands of tokens that it may have."""

    title: str
    paths: tuple[str, ...]
    tokens: float


ROOMS = (
    Room("methods", ("methods",), 21.7),
    Room("data, download", ("benchmark/data", "benchmark/cli/download.py"), 43.9),
    Room("training", ("benchmark/training",), 10.4),
    Room("run, machine, screen", ("benchmark/run", "benchmark/[mps]*.py"), 17.9),
    Room("results", ("benchmark/results",), 9.2),
    Room("reports", ("reports",), 32.6),
    Room("config", ("benchmark/config",), 6.9),
    Room("command line", ("run_benchmark.py", "benchmark/cli"), 21.3),
    Room("embedding, external", ("benchmark/embedding.py", "benchmark/external.py"), 3.8),
)
"""A file counts in the first room that has it: `download` is a command of the data."""
PRODUCT = Room("product", ("run_benchmark.py", "methods", "benchmark", "reports"), 167.0)
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


def tokens_of(text: str) -> int:
    """Count the tokens of a module, without imports, docstrings and comments."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(tokenize.tok_name[token.type] not in SKIPPED and token.start[0] not in skipped for token in tokens)


def is_too_large(room: Room, files: list[Path]) -> bool:
    """Print a room's line, and tell whether it has more tokens than it may have."""
    tokens = sum(tokens_of(file.read_text()) for file in files) / 1000
    print(f"{room.title:22}{len(files):6}{tokens:8.1f}k of {room.tokens:5}k")
    return tokens > room.tokens


def main() -> int:
    """Print the table; return 1 where a room has grown beyond its measure."""
    print(f"{'':22}{'files':>6}{'tokens':>9}   at most")
    grown, counted = [], set[Path]()
    for room in ROOMS:
        files = [file for file in python_files(*room.paths) if file not in counted]
        counted.update(files)
        if is_too_large(room, files):
            grown.append(room.title)
    if is_too_large(PRODUCT, python_files(*PRODUCT.paths)):
        grown.append(PRODUCT.title)
    for title, patterns, most in WORDS:
        pages = [page for pattern in patterns for page in ROOT.glob(pattern)]
        words = sum(len(re.findall(r"\S+", page.read_text())) for page in pages)
        print(f"{title:22}{len(pages):6}{words:8,} of {most:6,} words")
    print("\nBeside it: " + ", ".join(f"{name} {tokens}k" for name, tokens in ANCHORS.items()) + " tokens")
    for title in grown:
        print(f"{title}: larger than allowed; take something out of the room, or say in the commit why it must grow")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
