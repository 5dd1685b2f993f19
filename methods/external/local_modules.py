"""The local modules that a user's .py file imports, by content: an edit of any of them is another method or encoder."""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

_NOT_LOCAL = {"methods", "benchmark", "reports", *sys.stdlib_module_names}
"""First names of modules that are the suite's or Python's; their changes are told by results versions."""
_PACKAGES = {"site-packages", "dist-packages"}
"""Folders of installed packages."""


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
