"""Whether a file still has the content it was written with: read once, and again after any change.

NAME.stamp    size, times and inode of NAME when it was read, and the SHA-256 of its content
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path

from benchmark.results.files.write import write_atomic

FRESH_NS = 2_000_000_000
"""A file changed this short ago may change again without a new time (file systems count in up to 2 s): no stamp yet."""


def intact(path: Path, sha256: str) -> bool:
    """Whether the content of a file has this SHA-256. Raises OSError if it cannot be read.

    It is read unless its stamp names this digest and the file's present size, times and inode. In a folder that cannot
    be written to no stamp is kept.
    """
    stamp = path.with_name(f"{path.name}.stamp")
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        seen = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        told = json.dumps([*seen, sha256]).encode()
        with suppress(OSError):
            if stamp.read_bytes() == told:
                return True
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            return False
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > FRESH_NS:
        with suppress(OSError):
            write_atomic(stamp, told)
    return True
