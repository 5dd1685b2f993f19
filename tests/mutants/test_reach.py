"""A mutant meets the tests that call its function, also by a fixture, quickest first; all where none is seen to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, outcome_of, place_of_tests, reached_by
from tests.mutants.changes import mutants_of
from tests.mutants.reach import Reached, wanted

CODE = """
def half(x):
    return [y / 2 for y in (x,)][0]

class Tail:
    size = 3
    made = staticmethod(lambda: [0])

    def twice(self):
        return self.size + self.size
"""
NAMED = """
import pytest
from room.code import half

@pytest.fixture(scope="module")
def made():
    return half(4)

def test_of_what_is_made(made):
    assert made == 2

def test_of_the_same_fixture(made):
    assert made > 0
"""
OTHER = """
from room.code import Tail

def test_twice():
    assert Tail().twice() >= 6

def test_of_a_default():
    assert Tail.made() == [0]
"""
FILE, NEAREST = "room/code.py", "tests/room/test_code.py"


@pytest.fixture
def tree(tmp_path: Path) -> str:
    files = {
        FILE: CODE,
        NEAREST: NAMED,
        "tests/room/test_other.py": OTHER,
        "pyproject.toml": "[tool.pytest.ini_options]",
    }
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    return str(tmp_path)


@pytest.mark.slow
def test_what_a_test_calls_is_noted_and_what_none_notices_passes(tree: str) -> None:
    known: dict[str, dict[str, Reached]] = {}
    found = {test: own.functions for test, own in reached_by(tree, "tests/room", known).items()}
    assert found == {
        f"{NEAREST}::test_of_what_is_made": {(FILE, "half"), (NEAREST, "made"), (NEAREST, "test_of_what_is_made")},
        f"{NEAREST}::test_of_the_same_fixture": {
            (FILE, "half"),
            (NEAREST, "made"),
            (NEAREST, "test_of_the_same_fixture"),
        },
        "tests/room/test_other.py::test_twice": {(FILE, "Tail.twice"), ("tests/room/test_other.py", "test_twice")},
        "tests/room/test_other.py::test_of_a_default": {("tests/room/test_other.py", "test_of_a_default")},
    }
    outcomes = {
        mutant.key.partition(" ")[2]: outcome_of(mutant, tree, False, known)
        for mutant in mutants_of(FILE, CODE.encode())
    }
    assert outcomes == {
        "half: y / 2 -> y * 2": "failed",
        "half: 2 -> 3": "failed",
        "half: 0 -> 1": "failed",
        "Tail: 3 -> 4": "passed",
        "Tail: 0 -> 1": "failed",
        "Tail.twice: self.size + self.size -> self.size - self.size": "failed",
    }
    assert Path(tree, FILE).read_text() == CODE


def test_the_quickest_that_call_a_function_come_first_and_all_where_none_is_seen_to() -> None:
    called = frozenset({(FILE, "half")})
    reached = {
        f"{NEAREST}::test_slow": Reached(3.0, called),
        f"{NEAREST}::test_apart": Reached(0.5, frozenset()),
        "tests/room/test_other.py::test_quick": Reached(0.1, called),
    }
    slow, apart, quick = reached
    assert wanted(reached, (FILE, "half"), NEAREST) == [quick, slow]
    assert wanted(reached, (FILE, "-"), NEAREST) == [apart, slow, quick]


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("benchmark/data/datasets/tables.py", "tests/benchmark/data/datasets"),
        ("benchmark/training/boosting.py", "tests/benchmark/training"),
        ("methods/parts/_stock.py", "tests/methods/parts"),
        ("methods/from_file.py", "tests/methods"),
        ("gone/new.py", None),
    ],
)
def test_the_tests_are_those_of_the_room(file: str, tests: str | None) -> None:
    assert place_of_tests(file, str(ROOT), nearest=False) == tests
