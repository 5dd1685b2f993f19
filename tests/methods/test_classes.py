"""A class by its name or from a user's file, and what is wrong with either in one line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from methods import find_class, sources_of


class Shape:
    """A contract."""

    name = ""


class Round(Shape):
    name = "round"


class Square(Shape):
    name = "square"


TABLE = {"round": Round, "square": Square}
OUTSIDE = f"""
from dataclasses import dataclass
from {__name__} import Shape

@dataclass
class Sizes:  # a dataclass looks its module up
    width: int = 3

class Long(Shape):
    name = "long"
"""


def find(name: str | Path) -> type[Shape]:
    return find_class("shape", str(name), TABLE, Shape)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "long.py"
    file.write_text(OUTSIDE)
    return file


def test_an_unknown_name_is_answered_with_the_nearest_and_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown shape 'rund': did you mean 'round'.* choose from round, square"):
        find("rund")


def test_the_digest_is_of_the_file_as_it_was_loaded(file: Path) -> None:
    kind = find(file)
    file.write_text(OUTSIDE + "# edited since")
    assert sources_of(kind) == {"source": hashlib.sha256(OUTSIDE.encode()).hexdigest()}
    assert sources_of(Round) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines 0 Shape classes: define exactly one"),
        (OUTSIDE + "\nclass Other(Long): pass\n", "defines 2 Shape classes: define exactly one"),
        (OUTSIDE.replace('"long"', '"round"'), "that none of round, square has"),
        (OUTSIDE.replace('"long"', '"../long"'), "give Long a `name` of letters"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
    ],
)
def test_a_file_without_one_new_class_is_refused_by_its_path(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=f"shape file {file}.*{message}"):
        find(file)
