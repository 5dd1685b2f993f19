"""The one walk of a dataset's folder: its files, those that are not read, and what it could not enter or follow."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from benchmark.data.datasets.base import grouped, some
from benchmark.results.names import counted

LOCK = "~$"
"""Beginning of the names of Excel's marks of open files."""
CARDS = (".yaml", ".yml")
"""Ends of the names of cards, which may lie beside the files that they are of."""


class Unread(NamedTuple):
    """A kind of what a walk does not enter or follow."""

    noun: str
    fault: str
    """Behind the noun."""
    remedy: str


NOWHERE = Unread("link", "to nothing", "restore what they lead to; of git-annex `datalad get .` fetches it")
BACK = Unread("link", "to folders that they lie in, not followed", "remove them")
CLOSED = Unread("folder", "that cannot be entered", "give yourself the right to read them")
CLOSED_FILE = Unread("file", "that cannot be opened, or no file but a pipe", "give yourself the right, or remove them")


class FolderWalk(NamedTuple):
    """The files below a folder; names that begin with a dot are not looked at."""

    root: Path
    paths: list[str]
    """Paths of the files, sorted, also of those below links to folders."""
    warnings: tuple[str, ...]
    """Names that were not entered or followed, a line of each kind, with number and examples, no full stop."""

    @property
    def remark(self) -> str:
        """The warnings as they stand behind an error; '' for none."""
        return "".join(f"; {warning}" for warning in self.warnings)

    def unread(self, signals: Collection[str], tables: Collection[str]) -> list[str]:
        """Count the files beside those of signals and tables, in a line or none; files of a record share its name."""
        records = {os.path.splitext(path)[0] for path in signals}
        others = list[str]()
        for path in self.paths:
            name, suffix = os.path.splitext(path)
            if not records & {name, re.sub(r"_\d+$", "", name)} and suffix not in CARDS and path not in tables:
                others.append(path)
        return [f"{counted(len(others), 'file')} beside the signals and tables ({some(others)})"] if others else []


def walk_folder(root: Path) -> FolderWalk:
    """List the files below a folder, and count what stands in it and could not be entered or followed."""
    top = os.path.join(root.resolve(), "")
    paths = list[str]()
    closed = list[OSError]()
    unread = list[tuple[Unread, str]]()
    for parent, folders, names in os.walk(top, onerror=closed.append, followlinks=True):
        links_back = [name for name in folders if leads_back(Path(parent, name))]
        folders[:] = [name for name in folders if not name.startswith(".") and name not in links_back]
        unread += [(BACK, os.path.join(parent, name)) for name in links_back]
        for name in names:
            path = os.path.join(parent, name)
            if name.startswith(".") or LOCK in name:
                continue
            if os.path.isfile(path):
                paths.append(path.removeprefix(top))
            else:
                unread.append((NOWHERE if os.path.islink(path) else CLOSED_FILE, path))
    unread += [(CLOSED, str(error.filename)) for error in closed]
    by_kind = grouped((kind, path.removeprefix(top)) for kind, path in unread)
    warnings = [
        f"{counted(len(below), kind.noun)} {kind.fault} ({some(sorted(below))}): {kind.remedy}"
        for kind, below in by_kind.items()
    ]
    return FolderWalk(root, sorted(paths), tuple(warnings))


def leads_back(folder: Path) -> bool:
    """Tell whether a folder is a link to one of the folders that it lies in, so that following it has no end."""
    return folder.is_symlink() and folder.resolve() in map(Path.resolve, folder.parents)
