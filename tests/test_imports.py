"""The direction of dependency and the single owners of libraries, read from the imports of every file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("methods", "benchmark", "reports")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
OWNERS = {
    "rich": ("benchmark/console.py",),
    "wfdb": ("benchmark/data/",),
    "yaml": ("benchmark/config.py",),
    "matplotlib": ("reports/plots/",),
    "seaborn": ("reports/plots/",),
    "torch.distributed": ("methods/parts/gather.py", "benchmark/pretrain.py"),
}
FORBIDDEN = {
    "methods/": ("benchmark", "reports", "run_benchmark"),
    "reports/": ("torch", "methods", "run_benchmark"),
    "benchmark/": ("reports", "run_benchmark"),
    "benchmark/data/": tuple(
        f"benchmark.{module}" for module in ("cli", "runner", "engines", "grid", "pretrain", "finetune", "console")
    ),
    "benchmark/store.py": ("torch", "methods"),
}
"""Files below the prefix import none of the modules, nor what lies in them."""


def imported(source: str) -> Iterator[str]:
    """Dotted names of all modules a source imports anywhere, and of `torch.distributed` reached as an attribute."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import: write the module's full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.distributed":
            yield "torch.distributed"


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def imports_of(file: str) -> set[str]:
    return set(imported((ROOT / file).read_text()))


@pytest.mark.parametrize("file", FILES)
def test_dependencies_point_one_way(file: str) -> None:
    forbidden = {module for prefix, modules in FORBIDDEN.items() if file.startswith(prefix) for module in modules}
    wrong = {name for name in imports_of(file) for module in forbidden if within(name, module)}
    assert not wrong


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("methods/")])
def test_methods_need_torch_and_nothing_else(file: str) -> None:
    roots = {name.split(".")[0] for name in imports_of(file)}
    assert roots <= {"torch", "methods", *sys.stdlib_module_names}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("methods/parts/")])
def test_parts_know_no_method(file: str) -> None:
    wrong = {name for name in imports_of(file) if within(name, "methods") and not within(name, "methods.parts")}
    assert not wrong


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("reports/")])
def test_reports_know_only_the_store(file: str) -> None:
    wrong = {name for name in imports_of(file) if within(name, "benchmark") and not within(name, "benchmark.store")}
    assert not wrong


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_has_one_owner(library: str) -> None:
    owners = OWNERS[library]
    if not any((ROOT / owner).exists() for owner in owners):
        pytest.skip(f"{' and '.join(owners)} is not written yet")
    users = [file for file in FILES if any(within(name, library) for name in imports_of(file))]
    assert [file for file in users if not file.startswith(owners)] == []


@pytest.mark.parametrize("file", FILES)
def test_names_say_what_a_file_is_for(file: str) -> None:
    assert Path(file).stem not in {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("file", [file for file in FILES if Path(file).parent == Path("methods")])
def test_a_method_fits_on_two_screens(file: str) -> None:
    assert len((ROOT / file).read_text().splitlines()) <= 120


def test_the_reading_of_imports_finds_all_forms() -> None:
    source = "import rich.table as t\ndef f():\n    from wfdb import io\ntorch.distributed.barrier()\n"
    assert set(imported(source)) == {"rich.table", "wfdb.io", "torch.distributed"}
