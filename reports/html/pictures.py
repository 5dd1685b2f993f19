"""Embeds PNG figures in the page as data URIs, within its size limit."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import unpack
from typing import NamedTuple

from benchmark.results.names import EVALUATION_TITLES

SIGNATURE = b"\x89PNG\r\n\x1a\n"
SIZE_AT = slice(16, 24)
"""Bytes of a PNG file with width and height."""
DRAWN_AT = 200 / 120
"""Pixels of a figure (200 dpi) per pixel of the page; text is then a quarter larger than in print."""


class Picture(NamedTuple):
    """A figure to embed."""

    title: str
    file: Path


@dataclass(frozen=True)
class Embedded:
    """A figure in a page."""

    title: str
    source: str
    """Its data URI."""
    width: int
    height: int
    """In pixels of the page."""


def pictures_of(files: Iterable[Path]) -> list[Picture]:
    """The PNG files among some figures, titled by their names: 'Fine-tuned, per heartbeat: label efficiency'."""
    return [Picture(_title(file.stem), file) for file in files if file.suffix == ".png"]


def _title(stem: str) -> str:
    evaluation, _, rest = stem.partition("-")
    unit, _, what = rest.partition("-")
    if evaluation not in EVALUATION_TITLES or not what:
        return stem.replace("-", " ").capitalize()
    return f"{EVALUATION_TITLES[evaluation]}, per {unit}: {what.replace('-', ' ')}"


def embedded(pictures: Sequence[Picture], room: int) -> Iterator[Embedded | str]:
    """Each figure embedded, or one sentence why it is left out. room: bytes for all figures."""
    for title, file in pictures:
        try:
            content = file.read_bytes()
        except OSError as problem:
            yield f"{title}: {file.name} cannot be read ({problem.strerror})."
            continue
        if not content.startswith(SIGNATURE) or len(content) < SIZE_AT.stop:
            yield f"{title}: {file.name} is no PNG file."
            continue
        source = f"data:image/png;base64,{b64encode(content).decode()}"
        if len(source) > room:
            yield f"{title}: left out for the size of this page; it is in {file.name}."
            continue
        room -= len(source)
        width, height = unpack(">II", content[SIZE_AT])
        yield Embedded(title, source, round(width / DRAWN_AT), round(height / DRAWN_AT))
