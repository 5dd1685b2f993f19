"""A class by its name or from a user's file, and what is wrong with either in one line."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from methods import find_class, sources_of
from methods.base import PretrainMethod as Shape


class Round(Shape):
    name = "round"


class Square(Shape):
    name = "square"


TABLE = {"round": Round, "square": Square}
OUTSIDE = """
from dataclasses import dataclass
from methods.base import PretrainMethod as Shape

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


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown shape 'rund': did you mean 'round'.* choose from round, square"):
        find("rund")


def test_a_file_of_weights_is_answered_with_the_file_to_write() -> None:
    with pytest.raises(ValueError, match=r"theirs/x\.pt holds weights .*PretrainedEncoder.*self\.file\('x\.pt'\)"):
        find("theirs/x.pt")


def test_the_digest_is_of_the_file_as_it_was_loaded(file: Path) -> None:
    kind = find(file)
    file.write_text(OUTSIDE + "# edited since")
    assert sources_of(kind) == {"source": hashlib.sha256(OUTSIDE.encode()).hexdigest()}
    assert sources_of(Round) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines 0 PretrainMethod classes: define exactly one"),
        (OUTSIDE + "\nclass Other(Long): pass\n", "defines 2 PretrainMethod classes: define exactly one"),
        (OUTSIDE.replace('"long"', '"round"'), "that none of round, square has"),
        (OUTSIDE.replace('"long"', '"../long"'), "give Long a `name` of letters"),
        ("import nowhere_to_be_found", "ModuleNotFoundError"),
    ],
)
def test_a_file_without_one_new_class_is_refused_by_its_path(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ValueError, match=f"shape file {file}.*{message}"):
        find(file)


PATH = "import sys\nfrom pathlib import Path\nsys.path.append(str(Path(__file__).parent))\n"
IN_FUNCTION = "\ndef loss():\n    from neighbour import WEIGHT\n    return WEIGHT\n"


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ("neighbour.py", PATH + "import neighbour\n" + OUTSIDE),
        ("neighbour.py", PATH + OUTSIDE + IN_FUNCTION),
        ("neighbour/losses.py", PATH + "from neighbour.losses import WEIGHT\n" + OUTSIDE),
        ("neighbour.py", "import neighbour\n" + OUTSIDE),
        ("neighbour/losses.py", "from .neighbour.losses import WEIGHT\n" + OUTSIDE),
        ("neighbour.py", PATH + "from importlib import import_module\nimport_module('neighbour')\n" + OUTSIDE),
    ],
    ids=["file", "in a function", "folder", "not found", "relative", "by its name"],
)
def test_a_file_that_imports_another_one_is_refused_each_time(
    second: str, text: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / second).parent.mkdir(exist_ok=True)
    (tmp_path / second).write_text("WEIGHT = 0.001\n")
    file.write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"shape file {file} imports neighbour\S* of {tmp_path}.*into it"):
            find(file)
    sys.modules.pop("neighbour", None)


@pytest.mark.parametrize("opened", ['"rates.json"', "f'{FOLDER}/rates.json'"])
def test_a_file_that_names_another_one_beside_it_is_refused(file: Path, opened: str) -> None:
    file.with_name("rates.json").touch()
    file.write_text(f'"""rates.json"""\n{OUTSIDE}\n')
    assert find(file).name == "long"
    file.write_text(f"FOLDER = 2\n{OUTSIDE}\nPATH = {opened}\n")
    copied = file.rename(file.with_name("copied.py"))
    with pytest.raises(ValueError, match=r"names rates\.json, which lies beside it, and results are keyed by the one"):
        find(copied)


def test_a_file_imports_installed_packages(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those in a folder of packages that a cluster puts on the path, and one that nothing has loaded yet."""
    packages = tmp_path / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "of_a_cluster.py").write_text("WEIGHT = 0.001\n")
    monkeypatch.syspath_prepend(packages)
    file.write_text("import of_a_cluster, numpy.fft, torch, tomllib\nimport methods.parts.losses\n" + OUTSIDE)
    assert find(file).name == "long"
