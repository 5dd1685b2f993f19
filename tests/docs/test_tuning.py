"""docs/TUNING.md names each tuned knob with its space and the methods that have it."""

from __future__ import annotations

import re
from pathlib import Path

from methods import METHODS
from methods.parts.spaces import Log, Space, spaces_of

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "TUNING.md").read_text(encoding="utf-8")
TRAINED = [name for name, method in METHODS.items() if method.trains]


def words(space: Space) -> str:
    """'log-uniform, 0.03 to 0.5', '0, 0.1, 0.5'."""
    if isinstance(space, Log):
        return f"log-uniform, {space.low:g} to {space.high:g}"
    return ", ".join(f"{value:g}" for value in space.values)


def test_the_table_has_each_knob_with_its_space_and_its_methods() -> None:
    told: dict[str, tuple[str, list[str]]] = {}
    for knobs, space, methods in re.findall(r"^\| (`.*`) \| (.*) \| (.*) \|$", TEXT, re.MULTILINE):
        names = TRAINED if methods == "all" else methods.split(", ")
        told |= {knob: (space, names) for knob in re.findall(r"`([^`]+)`", knobs)}
    found: dict[str, tuple[str, list[str]]] = {}
    for name in TRAINED:
        for knob, space in spaces_of(METHODS[name].Config).items():
            found.setdefault(knob, (words(space), []))[1].append(name)
    assert told == found
