"""Atomic file writes under temporary names that no two processes share, errors that name the file."""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

TEMPORARY = re.compile(r"\..+\.([A-Za-z0-9-]+)\.([0-9]+)\.[0-9a-f]{16}\.tmp")
"""`.NAME.HOST.PID.TOKEN.tmp`: a file or folder that a process is writing, NAME when it is whole."""
LONGEST_HOST = 40
KEPT = "what is finished is kept, and the same command goes on"
REMEDIES = {
    errno.ENOSPC: f"free space there or name another folder; {KEPT}",
    errno.EDQUOT: f"your quota there is used up: free space or name another folder; {KEPT}",
    errno.EFBIG: f"files may not become that large there (`ulimit -f`); {KEPT}",
    errno.EROFS: "the place is mounted read-only: name another folder",
    errno.EACCES: "you may not write there: name another folder",
    errno.EPERM: "you may not write there: name another folder",
}
"""Number of an error of the operating system -> what to do."""


def this_host() -> str:
    """The name of this host as temporary names hold it: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:LONGEST_HOST] or "host"


def temporary_name(path: Path) -> Path:
    """A new name beside `path` for what becomes `path` when it is whole.

    The token is random: containers may share a host's name and count their processes from 1.
    """
    return path.with_name(f".{path.name}.{this_host()}.{os.getpid()}.{secrets.token_hex(8)}.tmp")


def owner_of(temporary: Path) -> tuple[str, int] | None:
    """Host and process id in a temporary name; None for any other name."""
    found = TEMPORARY.fullmatch(temporary.name)
    return (found[1], int(found[2])) if found else None


def remedy(error: OSError) -> str:
    """What to do about an error of reading or writing a file."""
    return REMEDIES.get(error.errno or 0, "is the place writable?")


def is_read_only(error: OSError) -> bool:
    """Whether an error says that nothing can be written to a place, however much room it has."""
    return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError name this file: one of a full disk names none, one of a temporary file a name nobody knows."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise OSError(errno.EIO, str(error), str(path)) from error
        if error.filename is None or owner_of(Path(str(error.filename))):
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file to write, which becomes `path` at the end: created exclusively, fsync, rename; removed on an error."""
    temporary = temporary_name(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as handle:
        handle.write(content)
