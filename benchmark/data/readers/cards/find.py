"""The files that a card's path pattern finds, by the identifiers in their paths."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.cards.card import PATIENT, RECORDING, Card

EXAMPLES = 3
MOST_LOOKED_AT = 10_000
"""Files of the folder that are looked at for an example of what is there."""
PART = re.compile(r"\{recording\}|\{patient\}|\*\*/|\*")
EXPRESSION = {RECORDING: r"(?P<recording>[^/]+)", PATIENT: r"(?P<patient>[^/]+)", "**/": "(?:[^/]+/)*", "*": "[^/]*"}
GLOB = {RECORDING: "*", PATIENT: "*", "**/": "**/", "*": "*"}
"""Part of a pattern -> the same in a regular expression, and in a glob pattern."""


class Found(NamedTuple):
    """A file of a pattern."""

    path: str
    """Below the dataset's folder."""
    recording: str
    """'' where the pattern has no {recording}."""
    patient: str


def files_of(card: Card, root: Path) -> list[Found]:
    """The files of a card's pattern, by path. Raises DatasetError where there is none, with what there is."""
    pattern = card.signals.files
    meaning = re.compile(_translated(pattern, EXPRESSION, re.escape))
    found = []
    for path in root.glob(_translated(pattern, GLOB, glob.escape)):
        name = path.relative_to(root).as_posix()
        match = meaning.fullmatch(name)
        if match and path.is_file():
            parts = match.groupdict()
            found.append(Found(name, parts.get("recording", ""), parts.get("patient", "")))
    if not found:
        there = _there(root)
        raise DatasetError(f"{card.title}: no file in {root} matches signals.files {pattern!r}{there}")
    return sorted(found)


def _translated(pattern: str, meaning: Mapping[str, str], escape: Callable[[str], str]) -> str:
    """A pattern in another language of patterns."""
    parts, end = [], 0
    for match in PART.finditer(pattern):
        parts += [escape(pattern[end : match.start()]), meaning[match[0]]]
        end = match.end()
    return "".join([*parts, escape(pattern[end:])])


def _there(root: Path) -> str:
    """'; there are 400 .hea (e.g. waves/a.hea)': the most frequent suffixes of a folder."""
    names: dict[str, list[str]] = {}
    count = 0
    for folder, _, files in os.walk(root):
        for file in sorted(files):
            count += 1
            path = Path(folder, file).relative_to(root)
            names.setdefault(path.suffix.lower(), []).append(path.as_posix())
        if count > MOST_LOOKED_AT:
            break
    most = Counter({suffix: len(own) for suffix, own in names.items()}).most_common(EXAMPLES)
    told = [f"{number} {suffix or 'without suffix'} (e.g. {min(names[suffix])})" for suffix, number in most]
    return (
        f": there are {', '.join(told)}; correct the pattern or give the folder by --data" if told else ": it is empty"
    )
