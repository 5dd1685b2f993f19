"""What a class from a file was made of: the file and the local modules it imports, by content and not by place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from methods import METHODS, get_method
from methods.external.from_file import sources_of

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


def test_methods_of_the_suite_have_none() -> None:
    assert [sources_of(method) for method in METHODS.values()] == [{}] * len(METHODS)


@pytest.mark.attack("a method's file edited between two runs")
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


@pytest.mark.attack("a method's file edited between two runs")
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


def test_a_file_without_local_modules_has_its_own_digest_alone(tmp_path: Path) -> None:
    text = b"import math, methods.pmq\nclass Mine(methods.pmq.PMQ):\n    name = title = 'mine'\n"
    (tmp_path / "mine.py").write_bytes(text)
    assert sources_of(get_method(str(tmp_path / "mine.py"))) == {"source": hashlib.sha256(text).hexdigest()}
