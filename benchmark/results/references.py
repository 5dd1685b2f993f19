"""The papers of methods, encoders, datasets and statistics: references.bib, whose keywords name what an entry is of."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib import resources
from typing import NamedTuple

FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


class Reference(NamedTuple):
    """An entry of references.bib."""

    key: str
    entry: str
    """BibTeX, without the keywords."""
    names: frozenset[str]
    """Methods, encoders, datasets and statistics that it is cited for."""
    short: str
    """'He et al. 2020'."""


@cache
def references() -> tuple[Reference, ...]:
    """Read all entries, in the order of the file."""
    text = resources.files("benchmark.results").joinpath("references.bib").read_text(encoding="utf-8")
    return tuple(_reference(entry.strip()) for entry in text.split("\n\n"))


def _reference(entry: str) -> Reference:
    fields = dict(FIELD.findall(entry))
    _, _, body = entry.partition("{")
    key, _, _ = body.partition(",")
    authors = fields["author"].split(" and ")
    surnames = [author.partition(",")[0].strip("{}") for author in authors]
    who = f"{surnames[0]} et al."
    if len(surnames) < 3:
        who = " and ".join(surnames)
    lines = [line for line in entry.splitlines() if not line.startswith("  keywords")]
    names = frozenset(fields["keywords"].split(", "))
    return Reference(key, "\n".join(lines), names, f"{who} {fields['year']}")


def cited(names: Collection[str]) -> list[Reference]:
    """Return the references of any of some names, in the order of the file."""
    return [reference for reference in references() if reference.names & set(names)]


def short_text(name: str) -> str:
    """Return ' (He et al. 2020)' for a method; '' where no paper is known."""
    texts = [reference.short for reference in cited([name])]
    return f" ({'; '.join(texts)})" if texts else ""
