"""`make size`: files, tokens and nodes a statement of every room beside the most it may have; fails where a room grows.

A token is one of Python's own tokenizer, without imports, docstrings, comments and line ends. Lines are not measured,
since a limit on lines asks for packed statements. The nodes of a statement are those of the syntax tree, without
statements inside it, operators and docstrings: how much it asks of its reader, whatever the formatter does with lines.
Other suites, counted by the same rules without their tests (November 2026), stand below for comparison.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Room(NamedTuple):
    """A part of the product, and the most thousands of tokens that it may have."""

    title: str
    paths: tuple[str, ...]
    tokens: float


PYTHON = (
    "ecg_pretrain_bench", "benchmark/evaluation.py", "benchmark/data/datasets/arrays.py", "methods/in_memory.py",
    "methods/twins.py", "reports/answer.py",
)  # fmt: skip
"""Files that Python code calls, and that they alone need."""
ROOMS = (
    Room("Python", PYTHON, 5.6),
    Room("methods", ("methods",), 21.8),
    Room("data, download", ("benchmark/data", "benchmark/cli/download.py"), 44.0),
    Room("training", ("benchmark/training",), 11.6),
    Room("run, machine, screen", ("benchmark/run", "benchmark/[mps]*.py"), 19.7),
    Room("results", ("benchmark/results",), 10.2),
    Room("reports", ("reports",), 40.4),
    Room("config", ("benchmark/config",), 6.9),
    Room("command line", ("run_benchmark.py", "benchmark/cli"), 23.7),
    Room("embedding, external", ("benchmark/embedding.py", "benchmark/external.py"), 3.5),
)
"""A file counts in the first room that has it: `download` is a command of the data."""
PRODUCT = Room("product", ("run_benchmark.py", "methods", "benchmark", "reports", "ecg_pretrain_bench"), 186.8)
WORDS = (
    ("pages", ("docs/*.md",), 14_000),
    ("evidence", ("docs/evidence/*.md",), 8_000),
    ("changelog", ("CHANGELOG.md",), 1_500),
)
"""Title, pages and the most words."""
ANCHORS = {"DomainBed": 41, "benchopt": 39, "lightly": 73, "MOABB": 74}
"""Suite -> thousands of tokens."""
MOST_NODES, MOST_NODES_IN_A_ROOM, MOST_NODES_OF_A_TENTH = 9.4, 9.8, 16
"""Most nodes a statement, in the mean of the product and of a room, and where the longest tenth begins."""
OPERATORS = ast.expr_context | ast.operator | ast.boolop | ast.unaryop | ast.cmpop
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MOST_PARAMETERS = 6
MANY_PARAMETERS = ("wave_trains", "patient_info_nce")
"""Functions of more positional parameters: a formula has as many."""
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


def nodes_of(statement: ast.stmt) -> int:
    """Count the nodes of a statement."""
    count, waiting = 0, list[ast.AST]([statement])
    while waiting:
        count += 1
        for node in ast.iter_child_nodes(waiting.pop()):
            if not isinstance(node, ast.stmt | OPERATORS):
                waiting.append(node)
    return count


def statements_of(text: str) -> list[int]:
    """Return the nodes of each statement of a module, without imports and docstrings."""
    nodes = []
    for statement in ast.walk(ast.parse(text)):
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_read = isinstance(statement, ast.stmt) and not isinstance(statement, ast.Import | ast.ImportFrom)
        if is_read and not is_docstring:
            nodes.append(nodes_of(statement))
    return nodes


def faults_in(file: Path) -> Iterator[str]:
    """Name the nested comprehensions of a module, and its functions of too many positional parameters."""
    for node in ast.walk(ast.parse(file.read_text())):
        place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, COMPREHENSIONS):
            inside = [one for one in ast.walk(node) if isinstance(one, COMPREHENSIONS)]
            if len(inside) > 1:
                yield f"{place}: a comprehension within another: write a loop, or give the inner one a name"
        if isinstance(node, ast.FunctionDef) and node.name not in (*MANY_PARAMETERS, "__init__"):
            parameters = [one for one in node.args.args if one.arg not in ("self", "cls")]
            if len(parameters) > MOST_PARAMETERS:
                yield f"{place}: {node.name} has {len(parameters)} positional parameters of at most {MOST_PARAMETERS}"


def is_too_large(room: Room, files: list[Path], most_nodes: float = MOST_NODES_IN_A_ROOM) -> bool:
    """Print a room's line, and tell whether it has more tokens, or nodes a statement, than it may have."""
    texts = [file.read_text() for file in files]
    tokens = sum(map(tokens_of, texts)) / 1000
    nodes = fmean(chain.from_iterable(map(statements_of, texts)))
    print(f"{room.title:22}{len(files):6}{tokens:8.1f}k of {room.tokens:5}k{nodes:8.2f}")
    return tokens > room.tokens or nodes > most_nodes


def main() -> int:
    """Print the table; return 1 where a room has grown beyond its measure."""
    print(f"{'':22}{'files':>6}{'tokens':>9}   at most   nodes a statement")
    grown, counted = [], set[Path]()
    for room in ROOMS:
        files = [file for file in python_files(*room.paths) if file not in counted]
        counted.update(files)
        if is_too_large(room, files):
            grown.append(room.title)
    product = python_files(*PRODUCT.paths)
    if is_too_large(PRODUCT, product, MOST_NODES):
        grown.append(PRODUCT.title)
    statements = sorted(chain.from_iterable(statements_of(file.read_text()) for file in product))
    tenth = statements[int(0.9 * len(statements))]
    print(f"{'the longest tenth of the statements begins at':>60}{tenth:4} nodes, of at most {MOST_NODES_OF_A_TENTH}")
    faults = list(chain.from_iterable(map(faults_in, product)))
    if tenth > MOST_NODES_OF_A_TENTH:
        faults.append(f"more than a tenth of the statements have over {MOST_NODES_OF_A_TENTH} nodes")
    for title, patterns, most in WORDS:
        pages = [page for pattern in patterns for page in ROOT.glob(pattern)]
        words = sum(len(re.findall(r"\S+", page.read_text())) for page in pages)
        print(f"{title:22}{len(pages):6}{words:8,} of {most:6,} words")
    print("\nBeside it: " + ", ".join(f"{name} {tokens}k" for name, tokens in ANCHORS.items()) + " tokens")
    for title in grown:
        print(
            f"{title}: more tokens or nodes a statement than allowed; take something out or give steps names, "
            "or say in the commit why it must grow"
        )
    for fault in faults:
        print(fault)
    return 1 if grown or faults else 0


if __name__ == "__main__":
    sys.exit(main())
