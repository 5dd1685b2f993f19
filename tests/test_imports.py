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
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("methods", "benchmark", "reports")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FOLDERS = sorted({str(Path(file).parent) for file in FILES})
ROOMS = (
    "run_benchmark",
    "benchmark",
    "benchmark.verbs",
    "reports.build",
    "reports.leaderboard",
    "reports.html",
    "reports.paper",
    "reports.compare",
    "reports.figures",
    "reports.tables",
    "reports.statistics",
    "reports.runs",
    "benchmark.run",
    "benchmark.embedding",
    "benchmark.training",
    "benchmark.config",
    "benchmark.elsewhere",
    "benchmark.data.audit",
    "benchmark.data.corpus",
    "benchmark.data.tasks",
    "benchmark.data.prepared",
    "benchmark.data.simulate",
    "benchmark.data.download",
    "benchmark.data.readers",
    "methods",
    "methods.encoders",
    "methods.parts",
    "methods.external",
    "benchmark.trackers",
    "benchmark.results",
    "benchmark.screen",
    "benchmark.machine",
)
"""From top to bottom. A file belongs to the room with the longest name that it lies in; `benchmark` itself holds the
names for users alone."""
OWNERS = {
    "rich": ("benchmark/screen/",),
    "onnx": ("benchmark/embedding/onnx.py",),
    "onnxruntime": ("benchmark/embedding/onnx.py", "benchmark/elsewhere/onnx_file.py"),
    "pyarrow": ("benchmark/verbs/embed/table.py",),
    "wfdb": ("benchmark/data/readers/", "benchmark/data/simulate/wfdb_files.py"),
    "neurokit2": ("benchmark/verbs/speed/plain/preparation.py",),
    "yaml": ("benchmark/config/",),
    "submitit": ("benchmark/run/engines/slurm/",),
    "h5py": ("benchmark/data/readers/cards/forms/hdf5_files.py",),
    "ecgbench": ("benchmark/data/readers/cards/ecgbench/",),
    "ecgdatakit": ("benchmark/data/readers/cards/forms/exports.py",),
    "requests": ("benchmark/data/download/",),
    "urllib3": ("benchmark/data/download/",),
    "matplotlib": ("reports/figures/draw/",),
    "seaborn": ("reports/figures/draw/",),
    "tensorboard": ("benchmark/trackers/tensorboard.py",),
    "wandb": ("benchmark/trackers/wandb.py",),
    "mlflow": ("benchmark/trackers/mlflow.py",),
    "torch.distributed": ("methods/parts/gather.py", "benchmark/machine/ranks.py"),
}
"""Library -> the only files that import it."""
DISTRIBUTION = {"yaml": "pyyaml", "sklearn": "scikit-learn", "pynvml": "nvidia-ml-py", "mlflow": "mlflow-skinny"}
DISTRIBUTION |= {"typing_extensions": "typing-extensions"}
"""Library -> the distribution that brings it, where their names differ."""
REGISTRIES = ("methods", "methods/encoders")
"""Folders of one file per name of a table, as many as there are names: a file is added there, nothing is looked for."""
MOST_MODULES, MOST_LINES_OF_A_FUNCTION, MOST_LINES_OF_A_METHOD = 14, 60, 120


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


def room_of(name: str) -> str | None:
    """The room that a module, or a name in one, belongs to."""
    return max((room for room in ROOMS if within(name, room)), key=len, default=None)


def module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports_of(file: str) -> set[str]:
    return set(imported((ROOT / file).read_text()))


def loaded_by(source: str) -> set[str]:
    """Dotted names of all that a source imports when it runs, in functions too: without what only type checkers see."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return set(imported(ast.unparse(tree)))


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Names that follow each other in a circle of a graph (name -> the names that it needs); empty for none."""
    rest = {name: needs & graph.keys() - {name} for name, needs in graph.items()}
    while free := {name for name, needs in rest.items() if not needs}:
        rest = {name: needs - free for name, needs in rest.items() if name not in free}
    path = [next(iter(sorted(rest)))] if rest else []
    while rest and path.count(path[-1]) < 2:
        path.append(min(rest[path[-1]]))
    return path[path.index(path[-1]) :] if path else []


def functions_of(file: str) -> Iterator[tuple[str, int]]:
    """Each function of a file with its number of lines."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


def upward(module: str, names: set[str]) -> set[str]:
    """Those of the imported names that lie in a room above the module's."""
    own = room_of(module)
    if own is None:
        return {name for name in names if room_of(name)}
    return {name for name in names if (room := room_of(name)) and ROOMS.index(room) < ROOMS.index(own)}


@pytest.mark.parametrize("file", FILES)
def test_a_room_imports_only_rooms_below_it(file: str) -> None:
    if file == "reports/__main__.py":
        assert upward("reports.build", imports_of(file)) == set()
    else:
        assert upward(module_of(file), imports_of(file)) == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(file) for file in FILES}
    graph = {}
    for file in FILES:
        names = loaded_by((ROOT / file).read_text())
        parts = ([".".join(name.split(".")[:end]) for end in range(name.count(".") + 1, 0, -1)] for name in names)
        graph[module_of(file)] = {next((own for own in longest_first if own in modules), "") for longest_first in parts}
    assert circle_in(graph) == []


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("methods/")])
def test_methods_need_torch_and_pydantic_and_nothing_else(file: str) -> None:
    roots = {name.split(".")[0] for name in imports_of(file)}
    assert roots <= {"torch", "pydantic", "methods", *sys.stdlib_module_names}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("reports/")])
def test_reports_know_only_the_results(file: str) -> None:
    names = imports_of(file)
    assert not {name for name in names if within(name, "torch") or within(name, "methods")}
    assert not {name for name in names if within(name, "benchmark") and not within(name, "benchmark.results")}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("benchmark/results/")])
def test_results_need_no_torch(file: str) -> None:
    assert not {name for name in imports_of(file) if within(name, "torch")}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("benchmark/run/engines/")])
def test_engines_know_nothing_of_ecg(file: str) -> None:
    """They know tasks, claims, files and processes: any other import of the suite is one of what the tasks are."""
    known = "benchmark.run.engines", "benchmark.run.work.claims", "benchmark.machine", "benchmark.results.files"
    words = "benchmark.results.plain_text", "benchmark.config.errors", "benchmark.config.sections.engine"
    ours = {name for name in imports_of(file) if within(name, "benchmark") or within(name, "methods")}
    assert {name for name in ours if not any(within(name, own) for own in (*known, *words))} == set()


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_has_one_owner(library: str) -> None:
    users = [file for file in FILES if any(within(name, library) for name in imports_of(file))]
    assert [file for file in users if not file.startswith(OWNERS[library])] == []


def required(source: str) -> tuple[set[str], set[str]]:
    """Top names of what a source imports when it is loaded, and of what its functions import when they are called."""
    tree = ast.parse(source)
    late = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for name in loaded_by(ast.unparse(node))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
    return {name.partition(".")[0] for name in loaded_by(ast.unparse(tree))}, late


def names_in(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", own)[0].lower() for own in requirements}


@pytest.mark.parametrize("file", [*FILES, "run_benchmark.py"])
def test_every_library_is_declared(file: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    always = names_in(project["dependencies"])
    extras = set().union(*map(names_in, project["optional-dependencies"].values()))
    ours = {*PACKAGES, "run_benchmark", "docs", *sys.stdlib_module_names}
    early, late = (
        {DISTRIBUTION.get(name, name) for name in names - ours} for names in required((ROOT / file).read_text())
    )
    assert early <= always, "a library of an extra is imported in a function"
    assert late <= always | extras


def test_the_time_of_an_import_is_told() -> None:
    source = "import yaml.x\nif TYPE_CHECKING:\n    import wfdb\nclass A:\n    def f(self):\n        import onnx\n"
    assert required(source) == ({"yaml"}, {"onnx"})


@pytest.mark.parametrize("file", FILES)
def test_names_say_what_a_file_is_for(file: str) -> None:
    assert Path(file).stem not in {"utils", "util", "helpers", "helper", "common", "misc"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_can_be_seen_at_once(folder: str) -> None:
    modules = [file for file in FILES if str(Path(file).parent) == folder]
    assert folder in REGISTRIES or len(modules) <= MOST_MODULES
    assert (ROOT / folder / "__init__.py").is_file(), "its first lines say what comes in, what goes out"


@pytest.mark.parametrize("file", FILES)
def test_a_function_fits_on_a_screen(file: str) -> None:
    assert [name for name, lines in functions_of(file) if lines > MOST_LINES_OF_A_FUNCTION] == []


@pytest.mark.parametrize("file", [file for file in FILES if Path(file).parent == Path("methods")])
def test_a_method_fits_on_two_screens(file: str) -> None:
    assert len((ROOT / file).read_text().splitlines()) <= MOST_LINES_OF_A_METHOD


def test_the_reading_of_imports_finds_all_forms() -> None:
    source = "import rich.table as t\ndef f():\n    from wfdb import io\ntorch.distributed.barrier()\n"
    assert set(imported(source)) == {"rich.table", "wfdb.io", "torch.distributed"}


def test_a_circle_through_a_function_is_found_and_one_of_types_is_none() -> None:
    assert loaded_by("if TYPE_CHECKING:\n    import a\ndef f():\n    from b import c\n") == {"b.c"}
    assert circle_in({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b", "other"}}) == ["b", "d", "b"]
    assert circle_in({"a": {"a", "b"}, "b": {"c"}, "c": set()}) == []


def test_an_arrow_upward_is_found() -> None:
    assert upward("methods.parts.queue", {"methods.pmq.PMQ", "torch.Tensor"}) == {"methods.pmq.PMQ"}
    assert upward("benchmark.run.cell", {"benchmark.verbs.data", "benchmark.training.linear"}) == {
        "benchmark.verbs.data"
    }
    assert upward("benchmark.verbs.run", {"reports.build.build_report", "benchmark.run.runner"}) == set()
