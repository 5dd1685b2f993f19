"""Classes by name: from a table of the suite's, or the one subclass of a contract that a user's .py file defines.

A key holds the content of a user's file and of the local modules that it imports, so that an edit of any of them is
another method or encoder.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")
_NOT_LOCAL = {"methods", "benchmark", "reports", *sys.stdlib_module_names}
"""First names of modules that are the suite's or Python's; their changes are told by results versions."""
_PACKAGES = {"site-packages", "dist-packages"}
"""Folders of installed packages."""


class Table(Mapping[str, T]):
    """Name -> class, whose module is imported when the class is asked for: names are there without torch or pandas."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """places: name -> 'module:Class'."""
        self._places = places

    def __getitem__(self, name: str) -> T:
        module, _, kind = self._places[name].partition(":")
        found: T = getattr(import_module(module), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def local_modules(path: Path, text: bytes) -> dict[str, str]:
    """Name -> SHA-256 of the local modules that a file's import statements reach, directly or through each other.

    Local: a .py file found on the import path outside Python's and the installed packages' folders, or beside the file.
    """
    installed = {Path(folder).resolve() for folder in sysconfig.get_paths().values()}
    entries = [Path(entry).resolve() for entry in sys.path]
    local = [entry for entry in entries if entry not in installed and not _PACKAGES & set(entry.parts)]
    found: dict[str, str] = {}
    waiting = list(_imported(text, ""))
    while waiting:
        name = waiting.pop()
        file = _file_of_module(name, [*local, path.parent])
        if name in found or name.partition(".")[0] in _NOT_LOCAL or file is None:
            continue
        content = file.read_bytes()
        found[name] = hashlib.sha256(content).hexdigest()
        waiting += _imported(content, name if file.stem == "__init__" else name.rpartition(".")[0])
    return dict(sorted(found.items()))


def _file_of_module(name: str, folders: list[Path]) -> Path | None:
    """The file of a module in the first folder that holds it: a .py file or a package's __init__.py."""
    parts = Path(*name.split("."))
    candidates = (folder / own for folder in folders for own in (parts / "__init__.py", parts.with_suffix(".py")))
    return next((file for file in candidates if file.is_file()), None)


def _imported(text: bytes, package: str) -> Iterator[str]:
    """Names that the import statements of a module of `package` may load, each with the packages around it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join(part for part in (*above, node.module) if part)
            names = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        else:
            continue
        for name in filter(None, names):
            yield from accumulate(name.split("."), lambda outer, inner: f"{outer}.{inner}")


NAME = re.compile(r"\w[\w .+-]{0,99}")
"""Names become parts of file names (benchmark.results.schema refuses others in a stored plan)."""
_TEXT = "__text__"
"""Module attribute with the source it was loaded from: the file may be edited during a run."""
_MODULES = "__local_modules__"
"""Module attribute with the digests of the local modules that the file imports."""


def find_class(what: str, name: str, table: Mapping[str, type[T]], *contracts: type) -> type[T]:
    """The class of a name in `table`, or defined by a .py file; `what` is its kind in messages, e.g. 'method'.

    contracts: the class of a file extends one of them. Raises ValueError for an unknown name or an invalid file.
    """
    if name.endswith(".py"):
        return _load_file(what, Path(name).resolve(), contracts, tuple(table))
    if name in table:
        return table[name]
    close = difflib.get_close_matches(name, table, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"unknown {what} {name!r}: {hint}choose from {', '.join(table)}, or give the path of a .py file")


def text_of(kind: type) -> bytes | None:
    """Source bytes of a class loaded from a file; None for a class of this package."""
    return getattr(sys.modules[kind.__module__], _TEXT, None)


def sources_of(kind: type) -> dict[str, Any]:
    """What a class loaded from a file was made of, for content keys; empty for a class of this package.

    `source`: SHA-256 of the file; `modules`, where it imports local ones: name -> SHA-256. No path enters.
    """
    text = text_of(kind)
    if text is None:
        return {}
    modules = getattr(sys.modules[kind.__module__], _MODULES)
    return {"source": hashlib.sha256(text).hexdigest()} | ({"modules": modules} if modules else {})


def file_digest(kind: type) -> str:
    """SHA-256 of the file that defines a class: as it was loaded, of this package as it lies there now."""
    text = text_of(kind)
    if text is None:
        text = Path(str(sys.modules[kind.__module__].__file__)).read_bytes()
    return hashlib.sha256(text).hexdigest()


@cache
def _load_file(what: str, path: Path, contracts: tuple[type, ...], taken: tuple[str, ...]) -> type:
    """The one class that a file outside the package defines; its module is named after the file's path."""
    if not path.is_file():
        raise ValueError(f"{what} file {path} does not exist")
    module = ModuleType(str(path))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up while it runs
    try:
        text = path.read_bytes()
        setattr(module, _TEXT, text)
        exec(compile(text, path, "exec"), vars(module))
        setattr(module, _MODULES, local_modules(path, text))
    except (Exception, SystemExit) as error:  # the file may call sys.exit()
        del sys.modules[module.__name__]
        raise ValueError(f"{what} file {path}: {type(error).__name__}: {error}") from error
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, contracts) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        asked = " or ".join(contract.__name__ for contract in contracts)
        raise ValueError(f"{what} file {path} defines {len(found)} {asked} classes: define exactly one")
    if getattr(found[0], "name", "") in {"", *taken}:
        raise ValueError(f"{what} file {path}: give {found[0].__name__} a `name` that none of {', '.join(taken)} has")
    name = getattr(found[0], "name", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{what} file {path}: the name {name!r} is not of letters, digits, blanks and _ . + -")
    return found[0]
