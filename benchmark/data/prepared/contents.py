"""SHA-256 of a dataset's files, read once per change: a file of stamps in the cache holds what was read before.

    cache/stamps/NAME-ROOT.json    path -> size, mtime in ns, inode, SHA-256; ROOT: a hash of the dataset's folder

A missing, damaged or unwritable file of stamps costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path

from benchmark.results.files.write import write_atomic
from benchmark.results.keys import digest

Stamp = tuple[int, int, int]
"""Size, mtime in ns, inode."""
OnReading = Callable[[int, int], None]
STAMPS = "stamps"
READERS = 8
"""Threads that read files."""
PART = 16
"""Files a thread takes at a time; one at a time, handing over costs as much as reading."""
SETTLED_NS = 2_000_000_000
"""A file changed this recently is not stamped: a further change might leave its time as it is."""


def contents_of(
    name: str,
    root: Path,
    files: Sequence[Path],
    cache: Path,
    *,
    read: bool = True,
    on_reading: OnReading | None = None,
) -> dict[Path, str | None]:
    """SHA-256 of each file of the dataset `name` in the folder `root`; None for what is no readable file.

    `on_reading(done, total)` counts the files that are read, from 0; it is not called if every stamp holds. Without
    `read`, a file whose stamp does not hold is None.
    """
    place = cache / STAMPS / f"{name}-{digest(str(root.resolve()))}.json"
    known = read_stamps(place)
    stamps = {path: stamp for path in files if (stamp := stamp_of(path))}
    found: dict[Path, str | None] = dict.fromkeys(files)
    for path, stamp in stamps.items():
        before, content = known.get(os.fspath(path), (None, None))
        found[path] = content if before == stamp else None
    unread = [path for path in stamps if found[path] is None]
    if not unread or not read:
        return found
    try:
        for path, content in read_all(unread, on_reading):
            found[path] = content
            if content and time.time_ns() - stamps[path][1] > SETTLED_NS:
                known[os.fspath(path)] = stamps[path], content
    finally:  # what was read before an interruption counts
        with suppress(OSError):  # a cache that cannot be written: the files are read again next time
            flat = {path: (*stamp, content) for path, (stamp, content) in known.items()}
            write_atomic(place, json.dumps(flat, separators=(",", ":")).encode())
    return found


def stamp_of(path: Path) -> Stamp | None:
    """Stamp of a regular file; None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a zero byte in a name
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def read_stamps(place: Path) -> dict[str, tuple[Stamp, str]]:
    """Path -> stamp and SHA-256 of a file of stamps; empty if it is missing or damaged."""
    try:
        return {
            str(path): ((int(size), int(time_ns), int(inode)), str(content))
            for path, (size, time_ns, inode, content) in json.loads(place.read_bytes()).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def read_all(files: Sequence[Path], on_reading: OnReading | None) -> Iterator[tuple[Path, str | None]]:
    """Each file with its SHA-256, read by several threads; None for one that cannot be read."""
    say = on_reading or (lambda done, total: None)
    say(0, len(files))
    pool = ThreadPoolExecutor(READERS)
    try:
        parts = [files[start : start + PART] for start in range(0, len(files), PART)]
        digests = chain.from_iterable(pool.map(_sha256_of_each, parts))
        for done, found in enumerate(zip(files, digests, strict=True), start=1):
            yield found
            say(done, len(files))
    finally:
        pool.shutdown(cancel_futures=True)


def _sha256_of_each(files: Sequence[Path]) -> list[str | None]:
    return [sha256_of(path) for path in files]


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
