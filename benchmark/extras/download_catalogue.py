"""The homes of the datasets as mirrors.yaml lists them: addresses, what is taken, and manners.

The file's own first lines say which of its facts were checked and how. No checksum stands in it: sums are the
publisher's and are fetched with the files.

The publisher's list of SHA-256 sums: which files there are, and what each must be.

A list is somebody else's text: a path that leaves the folder, a sum that is none or two sums for one path refuse the
whole list, before anything is written by it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.tables import path_within

MOST_CONNECTIONS = 8
"""At a time to one home; beyond it PhysioNet slows all of them down."""
Address = Annotated[str, Field(pattern=r"^https?://[^\s]+/$")]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


@lru_cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What matches a path that one of the patterns matches; a list has more than a million paths."""
    return re.compile("|".join(map(translate, patterns)))


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Manners(_Strict):
    """How a home is asked."""

    connections: Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)] = 4
    tries: Count = 8
    """Requests for a file in a row that bring no byte, until the home counts as out of reach."""
    first_wait: Seconds = 1.0
    """Seconds before the second try; doubled for each further one, with jitter."""
    longest_wait: Seconds = 60.0
    longest_rest: Seconds = 900.0
    """Longest Retry-After, in seconds, that is waited for."""
    timeout: Seconds = 60.0
    """Seconds without a byte after which a connection counts as lost."""
    slowest: Count = 1024
    """Bytes a second, over `patience` seconds, below which a home counts as out of reach."""
    patience: Seconds = 60.0


class Subset(_Strict):
    """A part of a dataset that can be asked for."""

    what: str
    """In a few words."""
    take: tuple[str, ...] = Field(min_length=1)
    """Patterns of the publisher's paths; * also matches /."""
    recordings: Count
    patients: Count
    """Both as documented, for what is told before the list is there."""
    recording_bytes: Count
    """Header and signal of one recording."""

    def chosen(self, path: str) -> bool:
        """Whether a publisher's path is in the subset."""
        return _any_of(self.take).match(path) is not None


class Column(_Strict):
    """A table whose rows are cut to the chosen patients with --patients."""

    file: str
    patient: str
    """Column of the patient."""
    records: tuple[str, ...] = ()
    """Columns of the recordings' paths without extension; of the first table alone."""


class Tree(_Strict):
    """A home with files below one address, and their SHA-256 sums in a list."""

    kind: Literal["tree"]
    url: Address
    sums: str = "SHA256SUMS.txt"


class Figshare(_Strict):
    """A home of articles with files, whose sizes and MD5 sums the API tells."""

    kind: Literal["figshare"]
    api: Address
    articles: dict[str, tuple[str, ...]]
    """Article -> the files taken from it."""
    unpack: dict[str, str] = Field(default_factory=dict)
    """Zip -> pattern of the members that are unpacked."""
    recording_bytes: Count
    """One recording, unpacked."""


class Extra(_Strict):
    """A file that stands at another place without a published sum, and what is checked instead."""

    file: str
    url: str = Field(pattern=r"^https?://[^\s]+$")
    check: Literal["cpsc2018 labels"]


class Source(_Strict):
    """A dataset's homes."""

    release: str
    """As cited, with its version."""
    folder: str = ""
    """The publisher's folder that becomes the dataset's own; '' for the root."""
    layouts: tuple[str, ...] = ()
    """Folder names of the reader that have the publisher's layout, besides the dataset's name."""
    homes: dict[str, Annotated[Tree | Figshare, Field(discriminator="kind")]] = Field(min_length=1)
    """By name, the preferred first; the next is asked for what one does not give."""
    subsets: dict[str, Subset] = Field(min_length=1)
    """By name; the first is the default."""
    tables: tuple[Column, ...] = ()
    """Without any, each recording counts as a patient."""
    table_bytes: int = 0
    """Tables and the list of sums, about."""
    sizes: dict[str, Count] = Field(default_factory=dict)
    """Pattern of paths -> bytes of such a file, about; the first that matches."""
    extras: tuple[Extra, ...] = ()

    def size_of(self, path: str) -> int:
        """Bytes of a file, about; 1,000 where nothing is known."""
        return next((size for pattern, size in self.sizes.items() if _any_of((pattern,)).match(path)), 1000)


class Catalogue(_Strict):
    """The content of a mirrors file."""

    manners: Manners = Manners()
    datasets: dict[str, Source]


def shipped() -> Path:
    """The mirrors file of this package."""
    return Path(str(resources.files("benchmark.extras") / "mirrors.yaml"))


def catalogue_of(values: Any, place: Path) -> Catalogue:
    """The mirrors of a YAML file's values. Raises DatasetError in one line for a wrong key or value."""
    try:
        return Catalogue.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DatasetError(f"{place}: {where}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


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


def free_bytes(folder: Path) -> int:
    """Bytes free where a folder is, or will be."""
    return shutil.disk_usage(_there(folder)).free


def disk_of(folder: Path) -> int:
    """The disk that a folder is on, or will be, by its number."""
    return _there(folder).stat().st_dev


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raise DatasetError where the disk of a folder has less room than `needed` bytes."""
    free = free_bytes(folder)
    if free < needed:
        raise DatasetError(
            f"{what} takes {shown_bytes(needed)} more and {folder} has room for {shown_bytes(free)}: free space or "
            "name another folder"
        )


def shown_bytes(count: int) -> str:
    """'640 B', '12 kB', '3.4 MB', '90.4 GB'."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] in ("B", "kB") or size >= 99.95 else f"{size:.1f} {units[0]}"


def _there(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
