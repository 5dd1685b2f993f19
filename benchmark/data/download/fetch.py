"""One file: from where it stopped, into NAME.part, checked, then named.

    NAME.part        the bytes so far
    NAME.part.json   what they are bytes of: address, validator (ETag or date) and length of the remote file

A part goes on only with the remote file that it began with: the server is asked by If-Range, and an answer with another
validator, another start or without a range begins anew. What came is compared with the publisher's sum before the
rename, so a part that was glued together after all is thrown away.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from requests import Response

from benchmark.data.download.web import WITHOUT_RANGE, Interrupted, Refused, Web, pieces
from benchmark.results.files.read import MEBIBYTE, read_regular
from benchmark.results.files.write import naming

WRONG_TRIES = 2
"""Whole downloads of a file whose sum is wrong each time, until the home is not asked for it again."""
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", re.ASCII)


@dataclass(frozen=True)
class _Tag:
    """What a part is a part of."""

    url: str
    validator: str = ""
    """Strong ETag or Last-Modified; '' where the server states neither."""
    total: int | None = None
    """Bytes of the whole; None where the server does not say."""


def digest_of(path: Path, algorithm: str) -> str:
    """The sum of a file's bytes in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def fetch(
    web: Web,
    url: str,
    target: Path,
    stop: Event,
    *,
    digest: str = "",
    algorithm: str = "sha256",
    on_bytes: Callable[[int], None] = lambda count: None,
) -> str:
    """Download a file, resuming its part; returns its sum.

    on_bytes: called with the number of bytes that came, also of those that are thrown away later.

    Raises Refused where the home does not give the file or gives other bytes than the sum says, Unreachable, Halted, or
    OSError of the disk.
    """
    part, tag = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part.json")
    tries, wrong = web.tries(), 0
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            before = _size(part)
            try:
                _go_on(web, url, part, tag, stop, bool(digest), on_bytes)
            except Interrupted as problem:
                tries = web.pause(web.tries() if _size(part) > before else tries, problem)
                continue
            found = digest_of(part, algorithm)
            if not digest or found == digest:
                break
            wrong += 1
            _discard(part, tag)
            if wrong == WRONG_TRIES:
                raise Refused(f"its {algorithm.upper()} is {found[:12]}..., the published one {digest[:12]}...")
        _put(part, target)
        tag.unlink(missing_ok=True)
    return found


def part_of(target: Path) -> int:
    """Bytes of a file that an earlier download has left in its part."""
    return _size(target.with_name(f"{target.name}.part"))


def _go_on(
    web: Web, url: str, part: Path, tag: Path, stop: Event, has_sum: bool, on_bytes: Callable[[int], None]
) -> None:
    """Bring a part to its end, by one request or none. Raises Interrupted, Refused, Unreachable or Halted."""
    known, have = _read_tag(tag), _size(part)
    if known is None or known.url != url or not (known.validator or has_sum):
        known, have = None, 0
    if known and have and have == known.total:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    if known and have and known.validator:
        headers["If-Range"] = known.validator
    with web.get(url, headers) as response:
        start, now = _answered(response, url)
        same = not known or now.validator in (known.validator, "")
        if response.status_code == WITHOUT_RANGE and have and now.total == have and same:
            return
        if response.status_code != 200 and (start != have or not same):
            _discard(part, tag)
            raise Interrupted("the remote file is another than that of the part: begun anew")
        with open(part, "r+b" if start else "wb", buffering=0) as file:
            # After the part is emptied, and not anew where it goes on: a kill here leaves no tag beside foreign bytes.
            if not start or now != known:
                tag.write_text(json.dumps(asdict(now)))
            file.seek(start)
            for piece in pieces(response, stop):
                file.write(piece)
                on_bytes(len(piece))
    if now.total is not None and _size(part) != now.total:
        raise Interrupted(f"connection lost at {_size(part)} of {now.total} bytes")


def _answered(response: Response, url: str) -> tuple[int, _Tag]:
    """Where an answer's bytes begin, -1 where it does not say, and what they are part of."""
    headers = response.headers
    etag = headers.get("ETag", "")
    validator = etag if etag.startswith('"') else headers.get("Last-Modified", "")  # a weak ETag says too little
    if response.status_code == 200:
        length = headers.get("Content-Length", "")
        return 0, _Tag(url, validator, int(length) if length.isascii() and length.isdigit() else None)
    match = CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    total = int(match[3]) if match and match[3] != "*" else None
    return (int(match[1]) if match and match[1] else -1), _Tag(url, validator, total)


def _read_tag(tag: Path) -> _Tag | None:
    """What a part is a part of; None where that is not known."""
    try:
        return _Tag(**json.loads(read_regular(tag, MEBIBYTE)))
    except (OSError, ValueError, TypeError):
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _discard(part: Path, tag: Path) -> None:
    for path in (part, tag):
        with suppress(FileNotFoundError):
            path.unlink()


def _put(part: Path, target: Path) -> None:
    """Give a part its name, after its bytes are on the disk."""
    descriptor = os.open(part, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(part, target)
