"""What a mutant is: one change of one place of a source file.

Changed are operators, conditions, numbers, truth values, words, keyword arguments, and statements that do something.
Docstrings, annotations, messages, decorators and results versions are not.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
ALIKE = (None, "strict", "device")
"""Keywords that are not dropped: `**`; a check of lengths; and what only an accelerator would notice."""
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "mean", "mean": "sum"}


class Mutant(NamedTuple):
    """A change of a file: `span`, in bytes, becomes `after`."""

    file: str
    line: int
    span: tuple[int, int]
    function: str
    """It stands in this one, Class.method or outer.inner; '-': in none."""
    key: str
    """As it is listed: without its line, which moves; the second of two alike in a function ends in #2."""
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
                changed(keywords=[k for k in keywords if k is not drop]) for drop in keywords if drop.arg not in ALIKE
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


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """All mutants of a file with this source, in its order."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    by_change = {}
    for function, node, other in sites(ast.parse(source)):
        if isinstance(node, ast.expr | ast.stmt) and node.end_lineno and node.end_col_offset is not None:
            span = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            before, after = ast.unparse(node), ast.unparse(other)
            by_change[span, after] = Mutant(
                file, node.lineno, span, function, f"{file} {function}: {before} -> {after}", after
            )
    alike = Counter[str]()
    mutants = []
    for mutant in sorted(by_change.values(), key=lambda mutant: (mutant.span, mutant.after)):
        alike[mutant.key] += 1
        number = alike[mutant.key]
        mutants.append(mutant if number == 1 else mutant._replace(key=f"{mutant.key} #{number}"))
    return mutants
