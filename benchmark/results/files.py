"""Files are written whole and sealed by digests."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO, StringIO
from os import stat_result
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

MEBIBYTE = 2**20
SHOWN = 100
"""Characters of a message or name that is not ours."""


def require_regular(path: Path, found: stat_result, limit: int) -> None:
    """Raise OSError if the file is not regular or larger than `limit` bytes."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if found.st_size > limit:
        raise too_large(path, limit)


def too_large(path: Path, limit: int) -> OSError:
    """The error of a file above its limit in bytes."""
    return OSError(errno.EFBIG, f"larger than {shown_size(limit)}", str(path))


def shown_size(size: int) -> str:
    """'256 MiB', '65536 bytes'."""
    return f"{size // MEBIBYTE} MiB" if size % MEBIBYTE == 0 else f"{size} bytes"


def read_json(path: Path) -> Any:
    """The value of a JSON file. Raises OSError and, for damaged content, ValueError."""
    return json.loads(path.read_bytes())


def unfit_members(entries: Sequence[ZipInfo], limit: int) -> str:
    """Why the members of a zip are not unpacked: they state more than `limit` bytes together; '' where they do not."""
    size = sum(entry.file_size for entry in entries)
    return f"it would unpack to {size:,} bytes, more than {shown_size(limit)}" if size > limit else ""


def npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an .npz file of named arrays."""
    buffer = BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_arrays(content: bytes, limit: int) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, at most `limit` bytes unpacked; none of objects. Raises ValueError in one line."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            problem = unfit_members(archive.infolist(), limit)
            if problem:
                raise ValueError(problem)
            return {name.removesuffix(".npy"): array_of(archive.read(name)) for name in archive.namelist()}
    except Exception as error:  # zipfile and numpy raise any kind of error on damaged content
        raise ValueError(f"no readable .npz file: {' '.join(str(error).split())[:SHOWN]}") from None


def array_of(content: bytes) -> NDArray[Any]:
    """The array of an .npy file whose header states as many bytes as there are; numpy would allocate any number.

    Raises ValueError for another, and for an array of objects.
    """
    file = BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if dtype.hasobject or file.tell() + math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"an array of {dtype} {shape} in {len(content)} bytes")
    array: NDArray[Any] = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    return array


DIGEST = "sha256"
"""Key of a JSON file under which the digest of the others stands."""


def digested_json(body: Mapping[str, Any]) -> bytes:
    """The content of a JSON file with the SHA-256 of its values beside them."""
    return json.dumps({**body, DIGEST: content_digest(body)}, indent=1).encode()


def read_digested_json(path: Path) -> dict[str, Any]:
    """The values of `digested_json`. Raises OSError and, for a file that was altered, ValueError."""
    body: dict[str, Any] = read_json(path)
    if not isinstance(body, dict):
        raise ValueError("it is no table of values")
    if body.pop(DIGEST, None) != content_digest(body):
        raise ValueError("its content does not match its digest")
    return body


def content_digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, whatever their order."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


SEAL_BYTES = 32


def seal(owner: str, body: bytes) -> bytes:
    """The body behind the SHA-256 of its owner's name and itself."""
    return hashlib.sha256(owner.encode() + b"\0" + body).digest() + body


def unseal(owner: str, content: bytes) -> bytes | None:
    """The body of a sealed content; None if it is damaged or of another owner."""
    body = content[SEAL_BYTES:]
    return body if seal(owner, body) == content else None


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


class Locked(Exception):
    """Another process holds a lock: 'HOST:PID'."""


@contextmanager
def file_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Context that one process at a time is in, by a file that names it; where nothing can be locked, all are.

    wait: wait for the others. Raises Locked otherwise.
    """
    with ExitStack() as stack:
        handle: IO[str] | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = stack.enter_context(open(path, "a+"))
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            handle.truncate(0)
            handle.write(f"{socket.gethostname()}:{os.getpid()}")
            handle.flush()
        except BlockingIOError:
            raise Locked(holder_in(path)) from None
        except OSError:
            pass
        yield


def holder_of(path: Path) -> str:
    """'HOST:PID' of the process that holds a `file_lock`; '' for none."""
    try:
        with open(path) as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return holder_in(path)
    except OSError:
        pass
    return ""


def holder_in(path: Path) -> str:
    """The name that the holder of a lock wrote."""
    return path.read_text().strip() or "another process"


LEFT_SECONDS, LEFT_ELSEWHERE_SECONDS = 60.0, 86400.0
"""Age of what an ended process of this host, and of what a process of another host left, when it is removed."""


def sweep(folders: Mapping[Path, int]) -> int:
    """Remove temporary files and folders of ended processes from folders and, so many levels deep, their subfolders.

    Returns how many were removed.
    """
    removed = 0
    for folder, depth in folders.items():
        for path in [path for level in range(depth + 1) for path in folder.glob("*/" * level + ".*.tmp")]:
            if is_left(path):
                removed += 1
                shutil.rmtree(path, ignore_errors=True)
                with suppress(OSError):
                    path.unlink()
    return removed


def is_left(path: Path) -> bool:
    """Whether the process that writes a temporary file or folder has ended; of another host, judged by age."""
    owner = owner_of(path)
    if owner is None:
        return False
    try:
        age = time.time() - max(item.lstat().st_mtime for item in (path, *path.rglob("*")))
    except OSError:  # another process removes it
        return False
    gone = owner[0] == this_host() and not is_running(owner[1])
    return age >= (LEFT_SECONDS if gone else LEFT_ELSEWHERE_SECONDS)


def is_running(pid: int) -> bool:
    """Whether this host has a process with the id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV file of rows of cells."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
