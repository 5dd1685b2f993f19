"""Reads files of others within bounds: regular files of a size, JSON of a depth, zips and .npz files of a content."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Sequence
from os import stat_result
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from benchmark.results.plain_text import harmless

MEBIBYTE = 2**20
LARGEST_JSON = 256 * MEBIBYTE
"""Bytes of a plan, row or card; a plan of 20,000 cells has 4 MiB."""
DEEPEST = 50
"""Levels of nested lists and objects; a stored config has six."""
LARGEST_INTEGER = 2**63
SHOWN = 100
"""Characters of a message or name that is not ours."""


def read_regular(path: Path, limit: int) -> bytes:
    """Content of a file. Raises OSError if it is missing, a FIFO, device or folder, or larger than `limit` bytes."""
    require_regular(path, path.stat(), limit)  # before it is opened: opening a FIFO waits for its writer
    with open(path, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise too_large(path, limit)
    return content


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
    """The value of a JSON file, as `parse_json`. Raises OSError like `read_regular`, ValueError like `parse_json`."""
    return parse_json(read_regular(path, LARGEST_JSON))


def parse_json(content: bytes) -> Any:
    """The value of a JSON text with harmful characters replaced in its texts and keys.

    Raises ValueError in one line if it is no JSON, nested too deeply or holds an integer beyond 64 bits.
    """
    try:
        return bounded(json.loads(content))
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None


def bounded(value: Any, levels: int = DEEPEST) -> Any:
    """A value of JSON or YAML with harmful characters replaced. Raises ValueError like `parse_json`."""
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else harmless(value)
    if isinstance(value, dict | list):
        if not levels:
            raise ValueError(f"nested deeper than {DEEPEST} levels")
        if isinstance(value, list):
            return [bounded(own, levels - 1) for own in value]
        return {bounded(key, levels): bounded(own, levels - 1) for key, own in value.items()}
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        raise ValueError("an integer beyond 64 bits")
    if value is not None and not isinstance(value, int | float):  # YAML has dates, bytes and sets
        raise ValueError(f"a value of the type {type(value).__name__}")
    return value


def bounded_by_text(value: Any, text: str) -> Any:
    """`bounded` of a JSON value, quick where its text (`json.dumps`, ASCII) has no character to replace."""
    if "\\" in text or "\x7f" in text:  # an escape, or DEL, which has none
        return bounded(value)
    require_bounds([value], DEEPEST + 1)
    return value


def require_bounds(value: Any, levels: int) -> None:
    """Raise ValueError for lists and objects nested deeper than so many levels, or an integer beyond 64 bits."""
    if not levels:
        raise ValueError(f"nested deeper than {DEEPEST} levels")
    for own in value.values() if type(value) is dict else value:
        kind = type(own)
        if kind is dict or kind is list:
            require_bounds(own, levels - 1)
        elif kind is int and abs(own) >= LARGEST_INTEGER:
            raise ValueError("an integer beyond 64 bits")


def unfit_members(entries: Sequence[ZipInfo], *, most: int, limit: int) -> str:
    """Why the members of a zip are not unpacked: too many or too large, twice, links, folders; '' for none."""
    names = [entry.filename for entry in entries]
    if len(names) > most:
        return f"it has {len(names)} members, more than {most}"
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return f"it holds {twice[:SHOWN]!r} twice"
    strange = [entry.filename for entry in entries if not _plain_file(entry)]
    if strange:
        return f"{strange[0][:SHOWN]!r} is no plain file"
    size = sum(entry.file_size for entry in entries)
    return f"it would unpack to {size:,} bytes, more than {shown_size(limit)}" if size > limit else ""


def _plain_file(entry: ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    known = entry.compress_type in (ZIP_STORED, ZIP_DEFLATED) and not entry.flag_bits & 1  # 1: encrypted
    return known and kind in (0, stat.S_IFREG) and not entry.is_dir()
