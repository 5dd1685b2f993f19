"""Files are written whole and carry digests; keys, temporary files, locks, and what to do about errors of the disk."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ValidationError

from benchmark.process import SHARED_MEMORY
from benchmark.results.names import reason_of

T = TypeVar("T")
KEY_LENGTH = 16
KEY_PATTERN = f"[0-9a-f]{{{KEY_LENGTH}}}"
"""Pattern of a key. Files are named by keys, so that no other text of a stored file may be taken for one."""


def digest(value: object) -> str:
    """Return the key of a JSON-like value: 16 hex digits of its canonical JSON's SHA-256. Raises ValueError for NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values, e.g. the content of a key or a config, by dotted name after a prefix."""
    by_name: dict[str, Any] = {}
    for name, value in values.items():
        by_name |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return by_name


class Damaged(Exception):
    """A stored file is not what was written; the message is one line: the file, what is wrong, and what is done."""


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Raise Damaged for whatever is wrong with a stored file that is read within, also where it is missing.

    remedy: what the run does about it, or what the user can do.
    """
    try:
        yield
    except (Damaged, MemoryError):
        raise
    except Exception as error:
        known = f"it lacks {error}" if isinstance(error, KeyError) else getattr(error, "strerror", None)
        raise Damaged(f"{path}: {known or reason_of(error)}; {remedy}") from None


def validated(row_type: type[T], values: Mapping[str, Any]) -> T:
    """Make a pydantic dataclass of stored values. Raises ValueError, which names the first wrong value in one line."""
    try:
        return row_type(**values)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"][0].lower() + first["msg"][1:]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {message}, got {repr(first['input'])[:60]}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read the values of a JSON file. Raises OSError and, for content that is no JSON object, ValueError."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise ValueError("it holds no values by name")
    return values


DIGEST = "sha256"
"""Key of a JSON file under which the digest of the others stands."""


def digested_json(body: Mapping[str, Any], name: str = DIGEST) -> bytes:
    """Return the content of a JSON file with the SHA-256 of its values beside them, under a name."""
    return json.dumps({**body, name: content_digest(body)}, indent=1).encode()


def read_digested_json(path: Path, name: str = DIGEST) -> dict[str, Any]:
    """Read the values of `digested_json`. Raises OSError and, for a file that was altered, ValueError."""
    body = read_json(path)
    expected = body.pop(name, None)
    refuse_altered(content_digest(body), expected)
    return body


def refuse_altered(digest: object, expected: object) -> None:
    """Raise ValueError where the digest of a content is not the stored one."""
    if digest != expected:
        raise ValueError("its content does not match its digest")


def file_digest(path: Path) -> str:
    """Compute the SHA-256 of a file of any size."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_digest(body: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of JSON values, whatever their order."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def seal(owner: str, body: bytes) -> bytes:
    """Put before the body of a file the SHA-256 of its owner's name, so that it fits no other owner, and of itself."""
    return hashlib.sha256(owner.encode() + b"\0" + body).digest() + body


def unseal(owner: str, content: bytes) -> bytes:
    """Return the body of a sealed content. Raises ValueError if it was altered or is of another owner."""
    body = content[hashlib.sha256().digest_size :]
    refuse_altered(seal(owner, body), content)
    return body


WEB_PAGE = "web page, e.g. of a login, in the place of a file; download it again"
IMPOSTORS = {
    b"version https://git-lfs": "Git LFS pointer in the place of a file; git lfs pull",
    b"<!doctype html": WEB_PAGE,
    b"<html": WEB_PAGE,
    b"\x1f\x8b": "file compressed by gzip; gunzip it",
    b"\xd0\xcf\x11\xe0": "workbook that is old or has a password; save it as .xlsx without one",
}
"""First bytes of what lies in the place of a file, in small letters -> its name, and the remedy."""


def impostor(path: Path) -> str:
    """Say what lies in the place of a file that cannot be read, and the remedy; '' if unknown. Raises OSError."""
    with open(path, "rb") as handle:
        start = handle.read(64).lstrip().lower()
    if not start:
        return "empty file; copy it again"
    return next((words for mark, words in IMPOSTORS.items() if start.startswith(mark)), "")


TEMPORARY = ".tmp"
"""Ending of a file or folder that a process is writing."""
ABANDONED_SECONDS = 3600
"""A temporary file that nobody has written to for so long is what a killed process left."""
RESUMES = "what is finished is kept, and the same command goes on"
REMEDIES = {
    errno.ENOSPC: f"free space there or name another folder; {RESUMES}",
    errno.EDQUOT: f"your quota there is used up: free space or name another folder; {RESUMES}",
    errno.EROFS: "the folder is mounted read-only: name another",
    errno.EACCES: "you may not write there: name another folder",
    errno.ENOSYS: "runs are supported on Linux and macOS, reports of results everywhere",
    errno.EISDIR: f"a folder lies where this file belongs: move it away; {RESUMES}",
    errno.EFBIG: f"files may not be so large there (ulimit -f, or the disk): name another folder; {RESUMES}",
    errno.EMFILE: f"raise the limit (ulimit -n), or use fewer --workers and --jobs; {RESUMES}",
    errno.EAGAIN: f"no more processes are allowed (ulimit -u): use fewer --workers and --jobs; {RESUMES}",
}
"""Number of an error of the operating system -> what to do."""


def temporary_name(path: Path) -> Path:
    """Return a new name beside `path` for what becomes `path` when it is whole; random, for several writers."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY}")


def remedy(error: BaseException) -> str:
    """Return what to do about an error of the operating system, after a semicolon; '' where that is not known."""
    if not isinstance(error, OSError):
        return ""
    if error.filename == SHARED_MEMORY:
        return f"; processes share semaphores there: free it, or use one process, --workers 1 and --jobs 1; {RESUMES}"
    return f"; {REMEDIES[error.errno]}" if error.errno in REMEDIES else ""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let an OSError within name this file: that of a full disk names none, that of a temporary file an unknown one."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename and not str(error.filename).endswith(TEMPORARY):
            raise
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, which becomes `path` at the end: created exclusively, fsync, rename; removed on an error."""
    temporary = temporary_name(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as handle:
                yield handle
                handle.flush()
                make_durable(handle.fileno())
            os.replace(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()


def make_durable(descriptor: int) -> None:
    """Wait until a file is on its disk; some file systems do not offer it, and lose nothing that was written."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as handle:
        handle.write(content)


HAS_LOCKS = find_spec("fcntl") is not None
"""This system locks files; Windows does not."""


class Locked(Exception):
    """Another process holds a lock: 'HOST:PID'."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Let one process at a time in, by a file that names it; on a disk without locks, all are in it.

    Raises Locked for another process, and OSError where the system has no locks, or where the file cannot be written,
    as nothing beside it could be.
    """
    if not HAS_LOCKS:
        raise OSError(errno.ENOSYS, "a run needs file locks, which this system lacks", str(path))
    import fcntl  # here, because a system without it reads results all the same

    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab", buffering=0) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(path.read_text()) from None
        except OSError:
            pass  # this disk has no locks
        with naming(path):
            handle.truncate(0)
            handle.write(f"{socket.gethostname()}:{os.getpid()}".encode())
        yield


def holder_of(path: Path) -> str:
    """Return 'HOST:PID' of the process that holds a `file_lock`; '' for none."""
    if not HAS_LOCKS:
        return ""
    import fcntl

    with suppress(FileNotFoundError), open(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return path.read_text()
    return ""


def remove_stale(folders: Mapping[Path, int]) -> int:
    """Remove abandoned temporary files and folders, so many levels deep in each folder; returns how many."""
    levels = [(folder, "*/" * level) for folder, depth in folders.items() for level in range(depth + 1)]
    removed = 0
    for path in [path for folder, level in levels for path in folder.glob(f"{level}.*{TEMPORARY}")]:
        with suppress(OSError):  # another process removes it
            if time.time() - max(item.lstat().st_mtime for item in (path, *path.rglob("*"))) > ABANDONED_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                removed += 1
    return removed
