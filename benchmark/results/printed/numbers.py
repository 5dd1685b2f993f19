"""The printed numbers and their sources as data."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple


class Printed(NamedTuple):
    """A number as printed."""

    source: str
    row: str
    column: str
    """A dataset under a task, e.g. 'ptb-xl.rhythm'."""
    evaluation: str
    """The table that it stands in."""
    ratio: float
    metric: str
    percent: float
    std: float | None
    """As printed, in percent; None where there is none."""


class Source(NamedTuple):
    """Where numbers were printed."""

    name: str
    cite: str
    protocol: str
    differs: str


@cache
def sources() -> dict[str, Source]:
    """Name -> source, in the order of the file."""
    return {line["name"]: Source(**line) for line in _lines("sources.csv")}


@cache
def numbers() -> tuple[Printed, ...]:
    """All printed numbers, in the order of the file."""
    return tuple(map(_printed, _lines("numbers.csv")))


def _printed(line: dict[str, str]) -> Printed:
    place = (line["source"], line["row"], line["column"], line["evaluation"], float(line["ratio"]), line["metric"])
    return Printed(*place, float(line["percent"]), float(line["std"]) if line["std"] else None)


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())
