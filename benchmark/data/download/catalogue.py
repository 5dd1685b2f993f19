"""The homes of the datasets as mirrors.yaml lists them: addresses, what is taken, and manners.

The file's own first lines say which of its facts were checked and how. No checksum stands in it: sums are the
publisher's and are fetched with the files.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmark.data.readers.errors import DatasetError

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
    return Path(str(resources.files("benchmark.data.download") / "mirrors.yaml"))


def catalogue_of(values: Any, place: Path) -> Catalogue:
    """The mirrors of a YAML file's values. Raises DatasetError in one line for a wrong key or value."""
    try:
        return Catalogue.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DatasetError(f"{place}: {where}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
