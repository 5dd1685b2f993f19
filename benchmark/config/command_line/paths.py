"""Paths that flags take, checked as they are read: what cannot be a folder or a file is refused before any work.

Each function is the `type` of a flag's argparse arguments: text of the command line -> path, `~` expanded. They raise
ArgumentTypeError in one line, before which argparse says the flag. A default given as text is checked as well.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path


def folder(text: str) -> Path:
    """A folder that is there or can be made; who reads it says what it has to hold."""
    path = _path(text, "folder")
    if not path.is_dir():
        _refuse_blocked(path)
        if path.exists():
            raise ArgumentTypeError(f"{text!r} is a file: name a folder")
    return path


def file_to_read(text: str) -> Path:
    """A file; who reads it says what it has to hold, also where there is none."""
    path = _path(text, "file")
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    return path


def file_to_write(text: str) -> Path:
    """A file that is there or can be made; no device, which a rename over it would remove."""
    path = _path(text, "file")
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    _refuse_blocked(path)
    if path.exists() and not path.is_file():
        raise ArgumentTypeError(f"{text!r} is a device or a pipe: name a file")
    return path


def results_named(text: str) -> str:
    """A results store, a capsule or DIR@KEY, as it was written; what is there says whether it is one."""
    _path(text, "folder of results or a capsule")
    return text


def _path(text: str, what: str) -> Path:
    """The path of a text. Raises ArgumentTypeError where it can be none."""
    if not text.strip():
        raise ArgumentTypeError(f"{text!r} names nothing: name a {what}")
    try:
        path = Path(text).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a null character
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ArgumentTypeError(f"{text[:40]!r} cannot be a path ({reason}): name another {what}") from None
    return path


def _refuse_blocked(path: Path) -> None:
    """Raise ArgumentTypeError where a file or a link to nothing stands in the way of making a path."""
    for own in (path, *path.parents):
        if own.is_symlink() and not own.exists():
            raise ArgumentTypeError(f"'{own}' is a link to nothing: remove it or name another place")
        if own != path and own.exists() and not own.is_dir():
            raise ArgumentTypeError(f"'{path}' cannot be made: {own} is a file, not a folder")
