"""Remove what killed processes left: temporary files and folders, and claims.

Each run looks once, when it starts. What a process of this host left goes 60 s after its last write, what one of
another host left after a day: younger files stay until the next run, and disturb nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmark.results.files.write import owner_of, this_host
from benchmark.run.work.claims import CLAIMS, Claims

EARLIER = re.compile(r"\..+\.[0-9]+\.tmp")
"""`.NAME.PID.tmp`, which names no host."""
QUIET_SECONDS = 60.0
"""Least age of what a process of this host left that is not found: another container may have the host's name."""
DAY_SECONDS = 86400.0
"""Least age of what a process of another host left."""


def sweep(folders: Mapping[Path, int], now: float | None = None) -> list[Path]:
    """Remove what ended processes left in the folders and, so many levels deep, in their subfolders.

    Files that cannot be removed are left. Returns what was removed, without claims.
    """
    moment = time.time() if now is None else now
    found = [path for folder, depth in folders.items() for path in leftovers(folder, depth, moment)]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return found


def leftovers(folder: Path, depth: int, now: float) -> Iterator[Path]:
    """Temporary files and folders of ended processes."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if owner_of(path) or EARLIER.fullmatch(entry.name):
            if is_left(path, now):
                yield path
        elif depth and entry.is_dir(follow_symlinks=False):
            yield from leftovers(path, depth - 1, now)


def is_left(path: Path, now: float) -> bool:
    """Whether the process that writes a temporary file has ended; judged by age if it cannot be seen from here."""
    owner = owner_of(path)
    gone = owner is not None and owner[0] == this_host() and not is_process(owner[1])
    return now - last_write(path) >= (QUIET_SECONDS if gone else DAY_SECONDS)


def is_process(pid: int) -> bool:
    """Whether this host has a process with the id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def last_write(path: Path) -> float:
    """Time of the last change of a file, or of anything in a folder; that of another process's removal is infinite."""
    try:
        return max(item.lstat().st_mtime for item in (path, *path.rglob("*")))
    except OSError:
        return float("inf")


def sweep_claims(shared: Path) -> None:
    """Remove the claims in a shared folder whose runner has ended."""
    paths = list((shared / CLAIMS).glob("*.json"))
    if not paths:
        return
    with Claims(shared / CLAIMS) as claims:
        for path in paths:
            if claims.take(path.stem):
                claims.release(path.stem)
