"""The publisher's list of SHA-256 sums: which files there are, and what each must be.

A list is somebody else's text: a path that leaves the folder, a sum that is none or two sums for one path refuse the
whole list, before anything is written by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from benchmark.data.download.catalogue import Source, Subset
from benchmark.data.readers.errors import DatasetError, Unusable
from benchmark.data.readers.files.tables import path_within

LINE = re.compile(r"(?P<digest>[0-9a-f]{64})[ \t]+\*?(?P<path>\S.*)", re.ASCII)
RECORDINGS = (".hea", ".dat", ".mat")
"""Suffixes of a recording's files; with --patients those of other patients are left out."""
SHOWN = 80
"""Characters of a wrong line that an error shows."""


class Wanted(NamedTuple):
    """A file to have."""

    url: str
    """Where it is: quoted, below the home's address, or a whole address."""
    path: str
    """Where it goes: relative to the dataset's folder."""
    digest: str
    """The publisher's sum in hexadecimal; '' where there is none."""
    size: int
    """Bytes, about."""
    algorithm: str = "sha256"

    @property
    def record(self) -> str:
        """Path without extension of the recording that it belongs to; '' for any other file."""
        stem, dot, suffix = self.path.rpartition(".")
        return stem if dot + suffix in RECORDINGS else ""


def listed(lines: Iterable[str], place: Path) -> Iterator[tuple[str, str]]:
    """(path, digest) of each line of a list. Raises DatasetError for a line that is none or a path that leaves."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if not text:
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise DatasetError(f"{place} line {number} is no SHA-256 sum: {text[:SHOWN]!r}")
        path = match["path"].removeprefix("./")
        if path.startswith("/") or "\\" in path or "/../" in f"/{path}/":
            raise DatasetError(f"{place} line {number}: path refused: {path[:SHOWN]!r}")
        yield path, match["digest"]


def chosen(place: Path, source: Source, subset: Subset) -> list[Wanted]:
    """The files of a subset that a list on disk names, in its order. Raises DatasetError as `listed`, or for none."""
    found: dict[str, str] = {}
    with open(place, encoding="utf-8", errors="replace") as lines:
        for path, digest in listed(lines, place):
            if not path.startswith(source.folder) or not subset.chosen(path):
                continue
            try:
                path_within(path)
            except Unusable as reason:
                raise DatasetError(f"{place}: {reason}") from None
            if found.setdefault(path, digest) != digest:
                raise DatasetError(f"{place}: two sums for {path[:SHOWN]!r}")
    if not found:
        raise DatasetError(f"{place} lists nothing of {source.release}: looked for {', '.join(subset.take)[:200]}")
    return [
        Wanted(quote(path), path.removeprefix(source.folder), digest, source.size_of(path))
        for path, digest in found.items()
    ]
