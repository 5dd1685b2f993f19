"""Atomic file writes under temporary names that no two processes share, and .npz files as bytes."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

TEMPORARY = re.compile(r"\..+\.([A-Za-z0-9-]+)\.([0-9]+)\.[0-9a-f]{16}\.tmp")
"""`.NAME.HOST.PID.TOKEN.tmp`: a file or folder that a process is writing, NAME when it is whole."""
LONGEST_HOST = 40


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


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file to write, which becomes `path` at the end: created exclusively, fsync, rename; removed on an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        with open(temporary, "xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as handle:
        handle.write(content)


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an .npz file of named arrays."""
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
