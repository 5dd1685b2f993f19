"""Do the tests notice? A mutant changes one place of a module; then its tests must fail, nearest first.

    make mutants                                        a seeded sample over all rooms
    make mutants MODULE=benchmark/data/tasks/split.py   all of one module

Mutants run one after another on a copy in a temporary folder, each in a fork with a limit on its processor time.
Those that no test should notice stand in `mutants.txt` below a `#` line with the reason, and are skipped. Exit code 1:
a survivor that is not listed. (mutmut changes no default of a class and no constant; cosmic-ray starts a new process
for each of its many mutants.)
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.util
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("methods", "benchmark/data", "benchmark/training", "benchmark/results", "reports/statistics")
FROZEN = "benchmark/data/simulate/"
LISTED = Path(__file__).with_suffix(".txt")
PRELOADED = ("torch", "pandas", "pydantic", "scipy.stats", "sklearn.linear_model", "wfdb")
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "mean", "mean": "sum"}


class Mutant(NamedTuple):
    file: str
    line: int
    span: tuple[int, int]  # bytes of the file that `after` replaces
    key: str  # as it is listed: without its line, which moves
    after: str


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand for a node: each with one change."""

    def changed(**fields: object) -> ast.AST:
        other = copy.copy(node)
        vars(other).update(fields)
        return other

    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            yield changed(op=SWAPS[type(op)]())
        case ast.Compare(ops=ops):
            yield from (changed(ops=[*ops[:i], SWAPS[type(op)](), *ops[i + 1 :]]) for i, op in enumerate(ops))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1 if isinstance(value, int) else 2 * value or 1.0)
        case ast.Constant(value=str() as value) if re.fullmatch(r"[\w.-]+", value):
            yield ast.Constant(f"{value}_")
        case ast.Name(id=name) if name in NAMES:
            yield changed(id=NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield changed(attr=NAMES[name])
        case ast.Call(keywords=keywords):
            yield from (
                changed(keywords=[k for k in keywords if k is not drop]) for drop in keywords if drop.arg != "strict"
            )
        case ast.Raise() | ast.Expr(value=ast.Call()) | ast.Break():
            yield ast.Pass()


def sites(node: ast.AST, function: str = "-") -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """(function, node, its replacement) of a tree, without docstrings, annotations, decorators, messages, versions."""
    yield from ((function, node, other) for other in changes(node))
    for test in [*getattr(node, "ifs", []), *([node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else [])]:
        if not isinstance(test, ast.Compare | ast.UnaryOp):  # these are turned round by `changes`
            yield function, test, ast.UnaryOp(ast.Not(), test)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".removeprefix("-.")
    for name, value in ast.iter_fields(node):
        children = [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
        if name == "annotation":  # the bounds in it
            children = [call for child in children for call in ast.walk(child) if isinstance(call, ast.Call)]
        for child in children if name not in ("decorator_list", "returns", "exc") else ():
            if not passed_over(child):
                yield from sites(child, function)


def passed_over(node: ast.AST) -> bool:
    """Whether a node is text or bookkeeping: docstring, f-string, type alias, results version, `strict=` of zip."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr() | ast.keyword(arg="strict"):
            return True
        case ast.Subscript(value=ast.Name(id="Literal" | "ClassVar")) | ast.Call(func=ast.Name(id="TypeVar")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return "version" in name.lower() or name in ("title", "encoder_passes")
    return False


def mutants_of(file: str) -> list[Mutant]:
    """All mutants of a file, in its order."""
    source = (ROOT / file).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for function, node, other in sites(ast.parse(source)):
        if isinstance(node, ast.expr | ast.stmt) and node.end_lineno and node.end_col_offset is not None:
            span = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            before, after = ast.unparse(node), ast.unparse(other)
            found[span, after] = Mutant(file, node.lineno, span, f"{file} {function}: {before} -> {after}", after)
    return sorted(found.values())


def tests_of(file: str) -> list[str]:
    """The tests that must notice: those of the same name, then those of the room's folder."""
    path = Path("tests") / file
    named = path.with_name(f"test_{path.stem.strip('_')}.py")
    return [str(place) for place in (named, named.parent) if (ROOT / place).exists()]


def in_a_fork(folder: str, tests: str, seconds: int, bytecode: bool) -> None:
    """Run tests in the folder's copy, quietly, with a limit on processor time."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = not bytecode
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", tests])))


def run_tests(folder: str, tests: str, seconds: int, *, bytecode: bool = False) -> str:
    """'passed', 'failed' or 'out of time'; no test is a passed one."""
    fork = multiprocessing.get_context("fork").Process(target=in_a_fork, args=(folder, tests, seconds, bytecode))
    fork.start()
    try:
        fork.join(10 * seconds)
    finally:
        fork.kill()
        fork.join()
    code = fork.exitcode or 0
    return "out of time" if code < 0 else "passed" if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else "failed"


def limit(folder: str, tests: str, known: dict[str, int]) -> int:
    """Seconds of processor time for tests, from what they take on the unchanged copy, where they must pass."""
    if tests not in known:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        if run_tests(folder, tests, 3600, bytecode=True) != "passed":
            raise SystemExit(f"{tests} fails without a mutant: repair it first")
        known[tests] = 30 + int(4 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before))
    return known[tests]


def outcome_of(mutant: Mutant, folder: str, nearest: bool, known: dict[str, int]) -> str:
    """What the first tests that notice a mutant say; 'passed' where none does."""
    all_tests = tests_of(mutant.file)[: 1 if nearest else None]
    target, (start, end) = Path(folder, mutant.file), mutant.span
    source = target.read_bytes()
    for tests in all_tests:
        seconds = limit(folder, tests, known)
        Path(importlib.util.cache_from_source(str(target))).unlink(missing_ok=True)
        target.write_bytes(source[:start] + mutant.after.encode() + source[end:])
        outcome = run_tests(folder, tests, seconds)
        target.write_bytes(source)
        if outcome != "passed":
            return outcome
    return "passed"


def copied_tree(folder: str) -> None:
    """Copy the files that git knows or does not ignore."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, Path(folder, name))


def main() -> int:
    """Try the mutants; print survivors and counts."""
    flags = argparse.ArgumentParser()
    flags.add_argument("modules", nargs="*", help="files; without one, a sample over all rooms")
    flags.add_argument("--sample", type=int, default=100)
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--nearest", action="store_true", help="only the tests of the same name")
    asked = flags.parse_args()
    files = asked.modules or sorted(
        path.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")
    )
    mutants = [mutant for file in files if not file.startswith(FROZEN) for mutant in mutants_of(file)]
    if not asked.modules:
        mutants = sorted(random.Random(asked.seed).sample(mutants, min(asked.sample, len(mutants))))
    listed = {line for line in LISTED.read_text().splitlines() if not line.startswith("#")}
    os.environ.setdefault("ECG_SHARED", str(ROOT.parent / "shared"))
    for name in PRELOADED:
        importlib.import_module(name)
    counts, known = Counter[str](), dict[str, int]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied_tree(folder)
        for mutant in mutants:
            outcome = "listed" if mutant.key in listed else outcome_of(mutant, folder, asked.nearest, known)
            counts[outcome] += 1
            if outcome == "passed":
                print(f"line {mutant.line}: {mutant.key}", flush=True)
    print(
        f"{len(mutants)} mutants: {counts['failed']} found, {counts['out of time']} out of time (found as well), ",
        end="",
    )
    print(f"{counts['listed']} listed, {counts['passed']} survived")
    return int(counts["passed"] > 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the folder is removed and the fork ended
    sys.exit(main())
