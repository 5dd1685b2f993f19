"""The looks of rows in all figures of all runs: a hue and a marker by name, and titles that the font can draw.

looks.csv    name, hue, marker: the compared methods have eight hues that differ under each kind of colour blindness
             (CIE Lab distance of 20 and more, Machado et al. 2009) and in grey (6 steps of lightness and more); every
             other row shares a hue, and has a pair of hue and marker to itself

A row without a line there, e.g. of a method of one's own, takes a free pair by the digest of its name.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from matplotlib.font_manager import FontProperties, findfont, get_font

from benchmark.results.store import Plan
from reports.words import row_title

MARKERS = "s^vD><*oHXhdpP8"
"""Markers that can be hollow."""
LETTERS_A_LINE = 26
"""A longer title goes on in a second line."""


class Look(NamedTuple):
    """Look of a row."""

    hue: str
    marker: str


class Titles(NamedTuple):
    """Titles in the figures of a plan; one whose title lacks a letter in their font is called by its name."""

    rows: dict[str, str]
    """Row -> title, which names the embedding where a method reads reports."""
    datasets: dict[str, str]
    """Dataset -> title, which says so of simulated ECGs."""


@cache
def looks_by_name() -> dict[str, Look]:
    """Read the looks of the built-in rows."""
    text = Path(__file__).with_name("looks.csv").read_text(encoding="utf-8")
    return {line["name"]: Look(line["hue"], line["marker"]) for line in csv.DictReader(text.splitlines())}


def looks_of(rows: Iterable[str]) -> dict[str, Look]:
    """Return row -> look; a row that is not built in has the first free pair of hue and marker from its digest on."""
    looks = dict(looks_by_name())
    hues = dict.fromkeys(look.hue for look in looks.values())
    pairs = [Look(*pair) for pair in product(hues, MARKERS)]
    for row in rows:
        if row not in looks:
            taken = set(looks.values())
            free = [pair for pair in pairs if pair not in taken] or pairs
            number = int(hashlib.sha256(row.encode()).hexdigest(), 16)
            looks[row] = free[number % len(free)]
    return looks


def titles_of(plan: Plan) -> Titles:
    """Choose the titles of the figures of a plan, long ones on several lines."""
    rows = drawable({name: row_title(plan, name) for name in plan.variants})
    datasets = drawable(plan.titles)
    for name, facts in plan.datasets.items():
        if facts["simulated"]:
            datasets[name] += " (simulated)"
    return Titles(on_lines(rows), on_lines(datasets))


def on_lines(titles: Mapping[str, str]) -> dict[str, str]:
    """Return titles by name, broken into lines of at most `LETTERS_A_LINE` letters."""
    return {name: fill(title, LETTERS_A_LINE) for name, title in titles.items()}


def drawable(titles: Mapping[str, str]) -> dict[str, str]:
    """Return titles by name, and the name in place of one that lacks a letter in the font of the figures."""
    letters = letters_of_font()
    return {name: title if letters.issuperset(map(ord, title)) else name for name, title in titles.items()}


@cache
def letters_of_font() -> frozenset[int]:
    """Read the letters that the font of the figures can draw, as code points."""
    font = get_font(findfont(FontProperties()))
    return frozenset(font.get_charmap())
