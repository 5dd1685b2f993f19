"""Prepared files have digests: what is damaged is removed and made again, and results know when it may have been read.

cache/KEY/FILE.digest    SHA-256 of a prepared file, when it was last read whole, and its size, time and inode then
cache/KEY.damaged        times from which and until which a file of KEY was damaged and nobody had noticed
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmark.results.files import digested_json, file_digest, naming, read_digested_json, write_atomic

WINDOWS, INDEX = "windows.f16", "index.safetensors"
DIGESTED = ".digest"


class Span(NamedTuple):
    """A time in which a file was damaged and read, in seconds since 1970."""

    since: float
    until: float


def digest_file(file: Path) -> Path:
    """Return the path of the digest of a prepared file."""
    return file.with_name(file.name + DIGESTED)


def stamp_of(file: Path) -> list[int]:
    """Return what changes where a file is written: its size in bytes, time in nanoseconds and inode."""
    state = file.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ino]


def remember(file: Path, sha256: str, stamp: Sequence[int]) -> None:
    """Write beside a prepared file its digest and the stamp that it had when it was read or written."""
    content = {"content": sha256, "stamp": stamp, "checked": time.time()}
    write_atomic(digest_file(file), digested_json(content))


def damaged_since(file: Path, *, read_again: bool) -> float | None:
    """Return since when a prepared file may be damaged, in seconds since 1970; None for one that is whole.

    A file whose stamp is the remembered one is read only where `read_again` says so.
    """
    if not file.is_file():
        return time.time()  # nobody has read a file that is not there
    stamp = stamp_of(file)
    written = file.stat().st_mtime
    try:
        known = read_digested_json(digest_file(file))
    except (OSError, ValueError):
        return written
    if stamp == known["stamp"] and not read_again:
        return None
    with naming(file):
        sha256 = file_digest(file)
    if sha256 != known["content"]:
        return max(written, known["checked"])
    with suppress(OSError):  # of a cache that others may only read, the file is read in every run
        remember(file, sha256, stamp)
    return None


def remove_damaged(folder: Path, *, read_again: bool) -> list[Path]:
    """Remove the damaged files of a prepared dataset, and write down since when they may have been read.

    With its windows or its index goes all that was made from them. Returns the damaged files.
    """
    names = {file.name.removesuffix(DIGESTED) for pattern in ("*.f16", f"*{DIGESTED}") for file in folder.glob(pattern)}
    since = {}
    for file in sorted(folder / name for name in names):
        if (start := damaged_since(file, read_again=read_again)) is not None:
            since[file] = start
    if since:
        spans = [*spans_of(folder), Span(min(since.values()), time.time())]
        write_atomic(spans_file(folder), digested_json({"spans": spans}))
    if since.keys() & {folder / WINDOWS, folder / INDEX}:
        shutil.rmtree(folder)
    else:
        for file in since:
            file.unlink(missing_ok=True)
            digest_file(file).unlink(missing_ok=True)
    return list(since)


def spans_file(folder: Path) -> Path:
    """Return the path of the times in which a file of a prepared dataset was damaged."""
    return folder.with_name(f"{folder.name}.damaged")


def spans_of(folder: Path) -> list[Span]:
    """Read the times in which a file of a prepared dataset was damaged; where they are damaged, all until then."""
    file = spans_file(folder)
    try:
        return [Span(*span) for span in read_digested_json(file)["spans"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return [Span(0.0, file.stat().st_mtime)]
