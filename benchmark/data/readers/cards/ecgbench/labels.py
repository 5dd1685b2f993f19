"""The labels of a row of ECGBench's tables, and the classes that enough patients have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.ecgbench.package import text_of
from benchmark.data.readers.files.tables import SHOWN, truth


def stated(value: Any, separator: str | None) -> list[str]:
    """The labels of a cell, each once: a list, a dictionary's keys, or text; none for a missing value."""
    if isinstance(value, Mapping | list | tuple | set):
        parts = [text_of(part) for part in value]
    else:
        text = text_of(value)
        parts = text.split(separator) if separator else [text]
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def flags(row: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    """The columns of yes and no that say yes. Raises Unusable for anything else in them; blank is no."""
    found = []
    for field in fields:
        text = text_of(row[field])
        said = truth(text) if text else False
        if said is None:
            raise Unusable(f"cell of a class is neither yes nor no (1 or 0): {text[:SHOWN]!r}")
        if said:
            found.append(field)
    return found


def counted(labels: Iterator[tuple[str, list[str]]], least: int) -> list[str]:
    """The labels that at least `least` patients have, sorted; of (patient, labels of a recording)."""
    patients: dict[str, set[str]] = {}
    for patient, own in labels:
        for label in own:
            patients.setdefault(label, set()).add(patient)
    return sorted((label for label, own in patients.items() if len(own) >= least), key=_number_first)


def _number_first(label: str) -> tuple[int, str]:
    return (int(label), "") if label.isdecimal() and len(label) < 19 else (10**19, label)
