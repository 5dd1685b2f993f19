"""A mutant is one change that still parses, in the place it names."""

from __future__ import annotations

import ast

from tests.mutants.changes import mutants_of

SOURCE = b'''"""Text stays."""
class Config:
    rate: Annotated[float, Field(gt=0)] = 0.5  # \xc3\xa9
    version: int = 2
    two: tuple[int, int] = (4, 4)

def share(x, y=True):
    if x and y:
        raise ValueError(f"x {x + 1}")
    return max(x, -1) if x < len(y) else pick(x, mode="first")
'''


def test_every_change_is_there_once_and_parses() -> None:
    mutants = mutants_of("a.py", SOURCE)
    assert [(mutant.line, mutant.key.partition(": ")[2]) for mutant in mutants] == [
        (3, "Field(gt=0) -> Field()"),
        (3, "0 -> 1"),
        (3, "0.5 -> 1.0"),
        (5, "4 -> 5"),
        (5, "4 -> 5 #2"),
        (7, "True -> False"),
        (8, "x and y -> not (x and y)"),
        (8, "x and y -> x or y"),
        (9, "raise ValueError(f'x {x + 1}') -> pass"),
        (10, "max -> min"),
        (10, "-1 -> 1"),
        (10, "1 -> 2"),
        (10, "x < len(y) -> x <= len(y)"),
        (10, "pick(x, mode='first') -> pick(x)"),
        (10, "'first' -> 'first_'"),
    ]
    for mutant in mutants:
        start, end = mutant.span
        changed = SOURCE[:start] + mutant.after.encode() + SOURCE[end:]
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
    assert mutants[0].key == "a.py Config: Field(gt=0) -> Field()"
    assert mutants[-1].key.startswith("a.py share: ")
