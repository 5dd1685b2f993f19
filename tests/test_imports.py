"""The rooms from top to bottom, the single owners of libraries, and the sizes that keep the house easy to see.

Read from the imports of every file, those inside functions too: a room imports only rooms below it, and no modules
import each other in a circle.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("methods", "benchmark", "reports")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FOLDERS = sorted({str(Path(file).parent) for file in FILES})
ROOMS = (
    "run_benchmark",
    "benchmark",
    "benchmark.cli",
    "reports",
    "reports.load",
    "reports.second_party",
    "reports.score_tables",
    "reports.footers",
    "reports.verdict",
    "reports.words",
    "reports.comparison",
    "reports.inference",
    "reports.moderation",
    "reports.columns",
    "reports.jackknife",
    "reports.layouts",
    "reports.results",
    "reports.computers",
    "benchmark.run",
    "benchmark.embedding",
    "benchmark.training",
    "benchmark.config",
    "benchmark.external",
    "benchmark.data",
    "benchmark.data.simulate",
    "benchmark.data.datasets",
    "methods",
    "methods.parts",
    "benchmark.screen",
    "benchmark.results",
    "benchmark.machine",
    "benchmark.process",
)
"""From top to bottom. A file belongs to the room with the longest name that it lies in; `benchmark` itself holds the
names for users alone."""
OWNERS = {
    "rich": ("benchmark/screen.py",),
    "wfdb": ("benchmark/data/datasets/", "benchmark/cli/data.py"),
    "yaml": ("benchmark/config/", "benchmark/data/datasets/card_labels.py"),
    "distributed": ("benchmark/run/dask_engine.py",),
    "h5py": ("benchmark/data/datasets/card_formats.py",),
    "ecgdatakit": ("benchmark/data/datasets/card_formats.py",),
    "requests": ("benchmark/cli/download.py",),
    "urllib3": ("benchmark/cli/download.py",),
    "matplotlib": (
        "reports/sweeps.py",
        "reports/figures.py",
        "reports/looks.py",
        "reports/answer.py",
        "benchmark/cli/data.py",
    ),
    "torch.utils.tensorboard": ("benchmark/run/pretraining.py",),
}
"""Library -> the only files that import it."""
DISTRIBUTION = {"yaml": "pyyaml", "sklearn": "scikit-learn"}
DISTRIBUTION |= {"typing_extensions": "typing-extensions"}
"""Library -> the distribution that brings it, where their names differ."""
MOST_LINES = 450
"""Most lines of a file: a longer one tells two stories."""


class Import(NamedTuple):
    """A module or a name of one that a file imports."""

    name: str
    in_function: bool
    for_types: bool
    """Under `if TYPE_CHECKING`: read by type checkers alone."""


def imports_in(source: str) -> Iterator[Import]:
    """Yield all that a source imports anywhere, and `torch.distributed` where it is reached as an attribute."""

    def visit(node: ast.AST, in_function: bool, for_types: bool) -> Iterator[Import]:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import: write the module's full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "torch.distributed":
            names = ["torch.distributed"]
        yield from (Import(name, in_function, for_types) for name in names)
        in_function |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for_types |= isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, in_function, for_types)

    yield from visit(ast.parse(source), False, False)


@cache
def imports_of(file: str) -> frozenset[Import]:
    return frozenset(imports_in((ROOT / file).read_text()))


def names_of(file: str) -> set[str]:
    return {imported.name for imported in imports_of(file)}


def within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def room_of(name: str) -> str | None:
    """The room that a module, or a name in one, belongs to."""
    return max((room for room in ROOMS if within(name, room)), key=len, default=None)


def in_room(file: str, *places: str) -> bool:
    return file.startswith(places)


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Names that follow each other in a circle of a graph (name -> the names that it needs); empty for none."""
    rest = {name: needs & graph.keys() - {name} for name, needs in graph.items()}
    while free := {name for name, needs in rest.items() if not needs}:
        rest = {name: needs - free for name, needs in rest.items() if name not in free}
    path = [next(iter(sorted(rest)))] if rest else []
    while rest and path.count(path[-1]) < 2:
        path.append(min(rest[path[-1]]))
    return path[path.index(path[-1]) :] if path else []


def upward(module: str, names: set[str]) -> set[str]:
    """Those of the imported names that lie in a room above the module's."""
    room = room_of(module)
    if room is None:
        return {name for name in names if room_of(name)}
    return {name for name in names if (other := room_of(name)) and ROOMS.index(other) < ROOMS.index(room)}


def reaching(files: list[str], *modules: str) -> list[str]:
    """The files that import one of some modules."""
    return [file for file in files if any(within(name, module) for name in names_of(file) for module in modules)]


def test_a_room_imports_only_rooms_below_it() -> None:
    offenders = {file: upward(module_of(file), names_of(file)) for file in FILES}
    assert {file: names for file, names in offenders.items() if names} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(file) for file in FILES}
    graph = {}
    for file in FILES:
        names = [imported.name for imported in imports_of(file) if not imported.for_types]
        parts = ([".".join(name.split(".")[:end]) for end in range(name.count(".") + 1, 0, -1)] for name in names)
        graph[module_of(file)] = {next((part for part in longest if part in modules), "") for longest in parts}
    assert circle_in(graph) == []


def test_rooms_need_no_package_but_theirs() -> None:
    allowed = {"torch", "pydantic", "methods", *sys.stdlib_module_names}
    methods = [file for file in FILES if in_room(file, "methods/")]
    offenders = {file: {name.split(".")[0] for name in names_of(file)} - allowed for file in methods}
    assert {file: names for file, names in offenders.items() if names} == {}
    reports = [file for file in FILES if in_room(file, "reports/")]
    assert reaching(reports, "torch", "methods") == []
    below = ("benchmark.results",)
    assert [
        (file, name)
        for file in reports
        for name in names_of(file)
        if within(name, "benchmark") and not any(within(name, room) for room in below)
    ] == []
    assert reaching([file for file in FILES if in_room(file, "benchmark/results/")], "torch") == []


def test_a_library_has_one_owner() -> None:
    offenders = {
        library: reaching([file for file in FILES if not in_room(file, *owners)], library)
        for library, owners in OWNERS.items()
    }
    assert {library: users for library, users in offenders.items() if users} == {}


def names_in(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in requirements}


def test_every_library_is_declared() -> None:
    """One of an extra is imported inside functions alone, or in the file that owns it, which is imported so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    always = names_in(project["dependencies"])
    extras = set().union(*map(names_in, project["optional-dependencies"].values()))
    ours = {*PACKAGES, "run_benchmark", "docs", *sys.stdlib_module_names}
    undeclared = []
    for file in [*FILES, "run_benchmark.py"]:
        for name, in_function, for_types in imports_of(file):
            top = name.partition(".")[0]
            declared = always | extras if in_function or file in OWNERS.get(top, ()) else always
            if not for_types and top not in ours and DISTRIBUTION.get(top, top) not in declared:
                undeclared.append((file, name))
    assert undeclared == []


def test_the_tree_is_flat_with_telling_names() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [file for file in FILES if Path(file).stem in empty] == []
    assert [folder for folder in FOLDERS if not (ROOT / folder / "__init__.py").is_file()] == []
    assert [folder for folder in FOLDERS if folder.count("/") > 2] == []


def test_a_file_tells_one_story() -> None:
    lines = {file: (ROOT / file).read_text().count("\n") for file in FILES}
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}
