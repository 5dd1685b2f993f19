"""Embeds PNG figures in the page as data URIs, within its size limit."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import unpack
from typing import NamedTuple

from benchmark.results.names import EVALUATION_TITLES
from benchmark.results.plan import Plan

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

    name: str
    """Of its file, without ending."""
    title: str
    source: str
    """Its data URI."""
    width: int
    height: int
    """In pixels of the page."""


def titles_in_names(plan: Plan) -> dict[str, str]:
    """Dataset or row of a plan, as it stands in the names of figures -> its title."""
    titles = {name: str(facts["title"]) for name, facts in plan.datasets.items()} | dict(plan.variants)
    return {name.replace("_", "-").replace(" ", "-"): title for name, title in titles.items()}


def pictures_of(files: Iterable[Path], titles: Mapping[str, str]) -> list[Picture]:
    """The PNG files among some figures, titled by their names: 'Fine-tuned, per heartbeat: confusion, PTB-XL'.

    titles: `titles_in_names`.
    """
    return [Picture(_title(file.stem, titles), file) for file in files if file.suffix == ".png"]


def _title(stem: str, titles: Mapping[str, str]) -> str:
    known = [name for name in EVALUATION_TITLES if stem.startswith(f"{name}-")]
    evaluation = max(known, key=len, default="")  # 'linear-fix', not 'linear'
    unit, _, what = stem.removeprefix(f"{evaluation}-").partition("-")
    if not evaluation or not what:
        return stem.replace("-", " ").capitalize()
    return f"{EVALUATION_TITLES[evaluation]}, per {unit}: {_words(what, titles)}"


def _words(what: str, titles: Mapping[str, str]) -> str:
    """'confusion-ptb-xl' -> 'confusion, PTB-XL'; the longest known name in it is the one meant."""
    for name in sorted(titles, key=len, reverse=True):
        before, found, after = f"-{what}-".partition(f"-{name}-")
        if found:
            parts = [before.replace("-", " ").strip(), titles[name], after.replace("-", " ").strip()]
            return ", ".join(filter(None, parts))
    return what.replace("-", " ")


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
        yield Embedded(file.stem, title, source, round(width / DRAWN_AT), round(height / DRAWN_AT))
