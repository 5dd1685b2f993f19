"""What a folder holds of a download: files that were verified, so that they are not read again, and who is at work.

    .download/verified.tsv   sum, bytes, time and path of each verified file, a line each, appended
    .download/lock           held by the process that downloads into the folder

A file counts as verified while its size and time are those of its line; any other is read and compared once more.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self

from benchmark.data.download.fetch import digest_of
from benchmark.data.download.sums import Wanted
from benchmark.data.readers.errors import DatasetError
from benchmark.data.readers.registry import OF_DOWNLOAD
from benchmark.results.files.write import naming

VERIFIED, LOCK = "verified.tsv", "lock"


class _Seen(NamedTuple):
    digest: str
    size: int
    time: int
    """Modification time in ns."""


class Ledger:
    """The verified files of a dataset's folder; several threads may add to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._path = root / OF_DOWNLOAD / VERIFIED
        self._lock = Lock()
        self._seen = dict(_entries(self._path))
        self._descriptor = -1

    def __enter__(self) -> Self:
        with naming(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            if self._path.stat().st_size and self._path.read_bytes()[-1:] != b"\n":
                os.write(self._descriptor, b"\n")  # a line that was cut by the end of its process
        return self

    def __exit__(self, *ending: object) -> None:
        os.close(self._descriptor)

    def add(self, path: str, digest: str) -> None:
        """Note a file of the folder as verified."""
        found = (self.root / path).stat()
        seen = _Seen(digest, found.st_size, found.st_mtime_ns)
        line = "\t".join([seen.digest, str(seen.size), str(seen.time), path])
        with self._lock, naming(self._path):
            self._seen[path] = seen
            os.write(self._descriptor, f"{line}\n".encode())

    def knows(self, wanted: Wanted) -> bool:
        """Whether a file is there as it was verified, with the publisher's sum; without one, with any."""
        seen = self._seen.get(wanted.path)
        if seen is None or seen.digest != (wanted.digest or seen.digest):
            return False
        try:
            found = (self.root / wanted.path).stat()
        except OSError:
            return False
        return (found.st_size, found.st_mtime_ns) == (seen.size, seen.time)

    def holds(self, wanted: Wanted, *, again: bool = False) -> bool:
        """Whether a file is there and right; one that is not known, or `again` any, is read and compared."""
        if not again and self.knows(wanted):
            return True
        path = self.root / wanted.path
        if not wanted.digest or not path.is_file() or digest_of(path, wanted.algorithm) != wanted.digest:
            return False
        self.add(wanted.path, wanted.digest)
        return True

    def bytes_here(self) -> int:
        """Bytes of the verified files."""
        return sum(seen.size for seen in self._seen.values())


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Within, no other process downloads into the folder. Raises DatasetError if one does."""
    path = root / OF_DOWNLOAD / LOCK
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a")  # noqa: SIM115, closed below
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatasetError(f"another process downloads into {root}: let it end, or stop it") from None
        except OSError:
            pass  # a file system without locks
        yield


def _entries(path: Path) -> Iterator[tuple[str, _Seen]]:
    """(path, entry) of the whole lines of a ledger, the latest of a path last."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    except FileNotFoundError:
        return
    for line in lines:
        cells = line.split("\t")
        if len(cells) == 4 and cells[1].isdecimal() and cells[2].isdecimal():
            yield cells[3], _Seen(cells[0], int(cells[1]), int(cells[2]))
