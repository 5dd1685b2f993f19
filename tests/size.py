"""`make size`: files, lines, tokens, imports and functions of every room, beside codebases that one would hold up.

A token is one of Python's own tokenizer, without imports, docstrings, comments and line ends. The import share is that
of the code lines. A function's body is counted in lines of code, without its docstring.

The anchors were counted by the same rules, of the packages without tests (November 2026).
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "methods", "methods/parts", "methods/encoders", "benchmark", "benchmark/cli", "benchmark/extras", "benchmark/run",
    "benchmark/training", "benchmark/config", "benchmark/data", "benchmark/data/datasets", "benchmark/data/simulate",
    "benchmark/results", "benchmark/machine", "reports", "reports/statistics", "reports/tables", "reports/figures",
)  # fmt: skip
PRODUCT = ("run_benchmark.py", "methods", "benchmark", "reports")
ANCHORS = {"DomainBed": 41, "benchopt": 39, "lightly": 73, "MOABB": 74}
"""Name -> thousands of tokens."""
NO_TOKENS = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
NO_TOKENS |= {tokenize.ENDMARKER}


class Size(NamedTuple):
    """What some files amount to."""

    files: int
    lines: int
    code_lines: int
    import_lines: int
    tokens: int
    bodies: list[int]
    """Lines of code of each function's body."""

    def row(self, name: str) -> str:
        """A line of the table."""
        share = 100 * self.import_lines / max(1, self.code_lines)
        body = median(self.bodies) if self.bodies else 0
        return f"{name:28}{self.files:6}{self.lines:8,}{self.tokens:9,}{share:9.1f} %{body:9g}"


def size_of(files: list[Path]) -> Size:
    """The size of some Python files together."""
    found = [size_of_text(file.read_text()) for file in files]
    return Size(
        len(files),
        sum(own.lines for own in found),
        sum(own.code_lines for own in found),
        sum(own.import_lines for own in found),
        sum(own.tokens for own in found),
        [body for own in found for body in own.bodies],
    )


def size_of_text(text: str) -> Size:
    """The size of a module."""
    tree = ast.parse(text)
    imports = {line for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for line in span(node)}
    left_out = imports | {line for node in docstrings(tree) for line in span(node)}
    words = [own for own in tokenize.generate_tokens(io.StringIO(text).readline) if own.type not in NO_TOKENS]
    code = {line for word in words for line in range(word.start[0], word.end[0] + 1)} - (left_out - imports)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    bodies = [len({line for part in own.body for line in span(part)} & code) for own in functions]
    tokens = sum(word.start[0] not in left_out for word in words)
    return Size(1, text.count("\n"), len(code), len(imports), tokens, bodies)


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Every text that stands alone as a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def span(node: ast.stmt | ast.expr) -> range:
    """The lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def python_files(*places: str) -> list[Path]:
    """All Python files at and below some places of the repository."""
    found = [ROOT / place for place in places]
    return sorted(file for place in found for file in ([place] if place.is_file() else place.rglob("*.py")))


def main() -> None:
    """Print the table."""
    print(f"{'':28}{'files':>6}{'lines':>8}{'tokens':>9}{'imports':>11}{'body':>9}")
    for room in ROOMS:
        print(size_of(sorted((ROOT / room).glob("*.py"))).row(room))
    product = python_files(*PRODUCT)
    folders = {file.parent for file in product}
    print(size_of(product).row(f"product ({len(folders)} folders)"))
    print(size_of(python_files("tests")).row("tests"))
    print("\n" + ", ".join(f"{name} {tokens}k" for name, tokens in ANCHORS.items()) + " tokens")


if __name__ == "__main__":
    sys.exit(main())
