"""A class by its name or from a user's file, and what is wrong with either in one line.

What a class from a file was made of: the file and the local modules it imports, by content and not by place.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from methods import get_method
from methods.from_file import file_digest, find_class, sources_of


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "rund",
            "unknown shape 'rund': did you mean 'round'? choose from round, square, or give the path of a .py file",
        ),
        ("xyz", "unknown shape 'xyz': choose from round, square, or give the path of a .py file"),
    ],
)
def test_an_unknown_name_is_answered_with_those_there_are(name: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        find(name)
    assert str(caught.value) == message


def test_the_digest_is_of_the_file_as_it_was_loaded(file: Path) -> None:
    kind = find(file)
    file.write_text(OUTSIDE + "# edited since")
    assert file_digest(kind) == hashlib.sha256(OUTSIDE.encode()).hexdigest()
    assert sources_of(kind)["source"] == file_digest(kind)
    assert file_digest(Round) == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert sources_of(Round) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines 0 Shape classes: define exactly one"),
        (f"from {__name__} import Round", "defines 0 Shape classes: define exactly one"),
        (OUTSIDE + "\nclass Other(Long): pass\n", "defines 2 Shape classes: define exactly one"),
        (OUTSIDE.replace('"long"', '"round"'), "give Long a `name` that none of round, square has"),
        (OUTSIDE.replace('"long"', '""'), "give Long a `name` that none of round, square has"),
        (OUTSIDE.replace('"long"', '"../long"'), "the name '../long' is not of letters, digits, blanks and _ . + -"),
        (OUTSIDE.replace('"long"', "3"), "the name 3 is not of letters, digits, blanks and _ . + -"),
        ("import sys; sys.exit(2)", "SystemExit: 2"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError: invalid syntax"),
    ],
)
def test_a_file_without_one_new_class_is_refused_by_its_path(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        find(file)
    assert str(caught.value).startswith(f"shape file {file}")
    assert message in str(caught.value)


def test_a_file_that_fails_leaves_no_module_and_can_be_repaired(file: Path) -> None:
    file.write_text("1 / 0")
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        find(file)
    assert str(file) not in sys.modules
    file.write_text(OUTSIDE)
    assert find(file).name == "long"


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape file /.*/nowhere\.py does not exist"):
        find("nowhere.py")


METHOD = """
import torch, numpy, methods.pmq
from {0} import weight
class Mine(methods.pmq.PMQ):
    name = title = "mine"
    def forward(self, batch):
        from {0}_inside.deep import late
        return weight * super().forward(batch)
"""


def write(folder: Path, name: str, files: dict[str, str] | None = None) -> str:
    """A method's file with a helper and a package beside it; returns its path."""
    texts = {
        "mine.py": METHOD.format(name),
        f"{name}.py": f"from {name}_far import weight",
        f"{name}_far.py": "weight = 1.0",
        f"{name}_inside/__init__.py": "",
        f"{name}_inside/deep.py": "from . import deeper, nest\nfrom ..nowhere import x\nlate = 1",
        f"{name}_inside/deeper.py": "",
        f"{name}_inside/nest/__init__.py": "from .leaf import x",
        f"{name}_inside/nest/leaf.py": "from ..twig import x",
        f"{name}_inside/twig.py": "x = 1",
        "unused.py": "",
    }
    for path, text in (texts | (files or {})).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return str(folder / "mine.py")


def sources(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, files: dict[str, str] | None = None) -> object:
    """The sources of a method written into a folder on the import path; module names start with h."""
    file = write(folder, name, files)
    with monkeypatch.context() as patched:
        patched.syspath_prepend(folder)
        return sources_of(get_method(file))


def test_all_local_modules_are_held_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sources(tmp_path, "h_all", monkeypatch)
    assert isinstance(found, dict)
    assert found["source"] == hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()
    inside = ("deep", "deeper", "nest", "nest.leaf", "twig")
    modules = ("h_all", "h_all_far", "h_all_inside", *(f"h_all_inside.{module}" for module in inside))
    assert tuple(found["modules"]) == modules
    assert found["modules"]["h_all_far"] == hashlib.sha256(b"weight = 1.0").hexdigest()


def test_equal_files_in_other_places_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (sources(tmp_path / name, "h_same", monkeypatch) for name in ("here", "there"))
    assert here == there


@pytest.mark.parametrize("edited", ["mine.py", "h_edit.py", "h_edit_far.py", "h_edit_inside/deeper.py"])
def test_an_edit_anywhere_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edited: str) -> None:
    before = sources(tmp_path / "before", "h_edit", monkeypatch)
    text = (tmp_path / "before" / edited).read_text()
    assert sources(tmp_path / "after", "h_edit", monkeypatch, {edited: f"{text}\n# edited"}) != before


def test_a_module_beside_the_file_is_found_where_the_file_itself_extends_the_import_path(tmp_path: Path) -> None:
    (tmp_path / "h_beside.py").write_text("weight = 1.0")
    (tmp_path / "mine.py").write_text(
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport h_beside\nsys.path.pop(0)\n"
        + "import methods.pmq\nclass Mine(methods.pmq.PMQ):\n    name = title = 'mine'\n"
    )
    assert list(sources_of(get_method(str(tmp_path / "mine.py")))["modules"]) == ["h_beside"]


@pytest.mark.parametrize(("folder", "local"), [("library", True), ("site-packages", False), ("dist-packages", False)])
def test_a_module_on_the_import_path_is_local_unless_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, local: bool
) -> None:
    name = f"h_{folder.partition('-')[0]}"
    (tmp_path / folder).mkdir()
    (tmp_path / folder / f"{name}.py").write_text("")
    (tmp_path / "mine.py").write_text(
        f"import {name}, methods.pmq\nclass Mine(methods.pmq.PMQ):\n    name = title = 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path / folder)
    assert list(sources_of(get_method(str(tmp_path / "mine.py"))).get("modules", {})) == ([name] if local else [])
