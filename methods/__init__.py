"""METHODS: pretraining methods by name. Batches and an encoder in, a loss and a pretrained encoder out.

To add a method, add its file and a line in `PAPER` or `BEYOND`; the path of a .py file also works as a name. A method
is imported when it is asked for, so that the names are there without torch. A key holds the content of a user's file,
so that an edit is another method or encoder. It holds this one file, so that the file may import installed packages
alone.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import sys
from collections import UserDict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from methods.base import PretrainMethod

T = TypeVar("T")


class ClassTable(UserDict[str, T]):
    """Name -> class, whose module is imported when the class is asked for: names are there without torch or pandas."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        """paths: name -> 'module:Class'."""
        self.data = dict(paths)  # type: ignore[arg-type]

    def __getitem__(self, name: str) -> T:
        module, _, class_name = str(self.data[name]).partition(":")
        return getattr(import_module(module), class_name)


PAPER = {
    "random": "methods.siamese:RandomInit",
    "moco": "methods.moco:MoCo",
    "byol": "methods.byol:BYOL",
    "clocs": "methods.clocs:CLOCS",
    "pclr": "methods.pclr:PCLR",
    "comet": "methods.comet:COMET",
    "etp": "methods.etp:ETP",
    "pmq": "methods.pmq:PMQ",
    "pmq-released": "methods.pmq_released:PMQReleased",
}
"""Methods that the PMQ paper compares."""
BEYOND = {
    "simclr": "methods.siamese:SimCLR",
    "vicreg": "methods.siamese:VICReg",
    "barlow": "methods.siamese:BarlowTwins",
    "simsiam": "methods.siamese:SimSiam",
    "ts2vec": "methods.ts2vec:TS2Vec",
    "cpc": "methods.cpc:CPC",
    "jepa": "methods.jepa:JEPA",
    "mae": "methods.mae:MAE",
    "clip-report": "methods.clip_report:ClipReport",
}
"""Further methods, compared by the config `literature` alone."""
METHODS: ClassTable[type[PretrainMethod]] = ClassTable(PAPER | BEYOND)
"""Name -> class, in the order of a table's rows."""


NAME = re.compile(r"\w[\w .+-]{0,99}")
"""Names become parts of file names (benchmark.results.store refuses others in a stored plan)."""
_TEXT = "__text__"
"""Module attribute with the source it was loaded from: the file may be edited during a run."""


@cache
def row_of(encoder: Any) -> type[PretrainMethod]:
    """Make the method of a `PretrainedEncoder`'s row, which has its name and title; the same class at each call."""
    from methods.base import External

    values = {"name": encoder.name, "title": encoder.title, "encoder_class": encoder, "__module__": encoder.__module__}
    return type(encoder.__name__, (External,), values)


@cache
def row_of_twin(encoder: Any) -> type[PretrainMethod]:
    """Make the method of the row of an encoder's untrained twin; the same class at each call."""
    from methods.twins import twin_of

    twin: Any = twin_of(encoder)
    return row_of(twin)


def get_method(name: str) -> type[PretrainMethod]:
    """Return the class of a method: a name of `METHODS`, or the path of a .py file that defines one `PretrainMethod`.

    Of a file that defines one `PretrainedEncoder`: the method of its row; 'random+' before it: that of its untrained
    twin. Raises ValueError for an unknown name or an invalid file.
    """
    from methods.base import External, PretrainMethod
    from methods.encoders.pretrained import PretrainedEncoder
    from methods.in_memory import IN_MEMORY
    from methods.twins import TWIN

    if name in IN_MEMORY:
        held: Any = IN_MEMORY[name]
        return row_of(held)
    if name.startswith(TWIN):
        trained: Any = get_method(name.removeprefix(TWIN))
        if not issubclass(trained, External):
            raise ValueError(f"{name}: {trained.name} has no twin; an encoder with weights from elsewhere has one")
        return row_of_twin(trained.encoder_class)
    method_class: Any = find_class("method", name, METHODS, PretrainMethod, PretrainedEncoder)
    return row_of(method_class) if issubclass(method_class, PretrainedEncoder) else method_class


def find_class(noun: str, name: str, table: Mapping[str, type[T]], *contracts: type) -> type[T]:
    """Return the class of a name in `table`, or defined by a .py file; `noun` is its kind in messages, e.g. 'method'.

    contracts: the class of a file extends one of them. Raises ValueError for an unknown name or an invalid file.
    """
    if name.endswith(".py"):
        return _load_file(noun, Path(name).resolve(), contracts, tuple(table))
    if name in table:
        return table[name]
    if name.endswith(WEIGHTS):
        raise ValueError(
            f"{name} holds weights without the network that reads them: write a .py file beside it with one "
            f"PretrainedEncoder, whose load() reads self.file({Path(name).name!r}), and name that file"
        )
    close = difflib.get_close_matches(name.lower(), table, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"unknown {noun} {name!r}: {hint}choose from {', '.join(table)}, or give the path of a .py file")


def text_of(model_class: type) -> bytes | None:
    """Return source bytes of a class loaded from a file; None for a class of this package."""
    return getattr(sys.modules[model_class.__module__], _TEXT, None)


def sources_of(model_class: type) -> dict[str, str]:
    """Give the SHA-256 of the file that a class was loaded from, for content keys; empty for this package's classes."""
    text = text_of(model_class)
    return {} if text is None else {"source": hashlib.sha256(text).hexdigest()}


def imported_by(source: bytes) -> Iterator[str]:
    """Yield the modules that a source imports anywhere, those that a function imports when it runs included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def named_by(source: bytes) -> Iterator[str]:
    """Yield what may be a file's name in the texts of a source, the end of a path included; docstrings are left out."""
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield from re.findall(r"[^/\n]{1,99}\.\w+$", node.value)


WEIGHTS = (".bin", ".ckpt", ".h5", ".onnx", ".pkl", ".pt", ".pth", ".safetensors")
"""Ends of the names of files that hold weights."""
OURS = ("methods", "benchmark", "reports")
INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, in any environment."""


def uninstalled_file(module: str) -> str:
    """Return where the package of a module lies that is neither Python's, nor ours, nor installed; '' for others."""
    package = module.partition(".")[0]
    if package in (*OURS, *sys.stdlib_module_names) or not package.isidentifier():
        return ""
    try:
        spec = find_spec(package)
    except ValueError:  # made by code, without a file
        return ""
    if spec is None:
        return ""
    folders = spec.submodule_search_locations or ()  # of a folder without __init__.py there is no other sign
    lies_at = spec.origin if spec.has_location else next(iter(folders), None)
    return "" if lies_at is None or set(Path(lies_at).parts) & set(INSTALLED) else lies_at


def one_file_text(noun: str, path: Path, module: str, second: str) -> str:
    """Say what to do about a file that imports a module of another one."""
    return (
        f"{noun} file {path} imports {module} of {second}, and results are keyed by the one file, which holds all: "
        "move what it needs into it, or install that as a package (pip install, without -e)"
    )


def refuse_neighbours(noun: str, path: Path, source: bytes) -> None:
    """Raise ValueError where a source imports a module that lies beside its file."""
    for module in imported_by(source):
        package = path.with_name(module.partition(".")[0])
        for second in filter(Path.exists, (package.with_suffix(".py"), package)):
            raise ValueError(one_file_text(noun, path, module, str(second)))


@cache
def _load_file(noun: str, path: Path, contracts: tuple[type, ...], taken: tuple[str, ...]) -> type:
    """The one class that a file outside the package defines; its module is named after the file's path."""
    if not path.is_file():
        raise ValueError(f"{noun} file {path} does not exist")
    module = ModuleType(str(path))
    module.__file__, module.__package__ = str(path), ""
    sys.modules[module.__name__] = module  # dataclasses look their module up while it runs
    known = set(sys.modules)
    try:
        text = path.read_bytes()
        setattr(module, _TEXT, text)
        exec(compile(text, path, "exec"), vars(module))
    except (Exception, SystemExit) as error:  # the file may call sys.exit()
        del sys.modules[module.__name__]
        if isinstance(error, ImportError):
            refuse_neighbours(noun, path, text)
        raise ValueError(f"{noun} file {path}: {type(error).__name__}: {error}") from error
    for name in sorted({*imported_by(text), *sys.modules.keys() - known}):
        if second := uninstalled_file(name):
            sys.modules.pop(name, None)  # so that it is refused again
            raise ValueError(one_file_text(noun, path, name, second))
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, contracts) and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        wanted = " or ".join(contract.__name__ for contract in contracts)
        raise ValueError(f"{noun} file {path} defines {len(classes)} {wanted} classes: define exactly one")
    for second in named_by(text):
        if path.with_name(second).is_file() and second not in (path.name, *getattr(classes[0], "weights", ())):
            raise ValueError(
                f"{noun} file {path} names {second}, which lies beside it, and results are keyed by the one file: move "
                "what it needs into it, or name that in `weights` of a PretrainedEncoder"
            )
    name = getattr(classes[0], "name", "")
    if name in taken or not NAME.fullmatch(str(name)):
        raise ValueError(
            f"{noun} file {path}: give {classes[0].__name__} a `name` of letters, digits, blanks and _ . + - that none "
            f"of {', '.join(taken)} has"
        )
    return classes[0]
