"""Numbers that other groups have printed, and where: rows in italics beside ours, never part of a statistic.

printed/numbers.csv    source, row, column of the table, evaluation, label ratio, metric, percent, standard
                       deviation, and what others measured who ran it again, and who
printed/sources.csv    source, what to cite, how it was measured, what differs here
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from pydantic import TypeAdapter


class Printed(NamedTuple):
    """A number as printed."""

    source: str
    row: str
    column: str
    """A dataset, or a dataset under a task, e.g. 'ptb-xl.rhythm'."""
    evaluation: str
    ratio: float
    metric: str
    percent: float
    std: float | None = None
    """As printed, in percent; None where there is none."""
    again: float | None = None
    """What others measured who ran it again, in percent; None where no other number is known. by: who they are."""
    by: str = ""


class Source(NamedTuple):
    """Where numbers were printed."""

    name: str
    cite: str
    protocol: str
    differs: str


@cache
def sources() -> dict[str, Source]:
    """Read name -> source, in the order of the file."""
    return {line["name"]: Source(**line) for line in _lines("sources.csv")}


@cache
def numbers() -> tuple[Printed, ...]:
    """Read all printed numbers, in the order of the file."""
    stated = [{name: text for name, text in line.items() if text} for line in _lines("numbers.csv")]
    return TypeAdapter(tuple[Printed, ...]).validate_python(stated)


def _lines(name: str) -> list[dict[str, str]]:
    text = resources.files("benchmark.results").joinpath("printed", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
