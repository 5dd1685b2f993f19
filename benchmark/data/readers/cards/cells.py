"""Cells of a row -> identifiers, labels, side of the split, sex and age, by what a card says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cards.card import Labels, Split
from benchmark.data.readers.files.tables import SHOWN, truth
from benchmark.results.rows import LONGEST_ID

WHOLE = re.compile(r"(\d+)\.0*", re.ASCII)
FOLDS = {"train": 1, "validation": 9, "test": 10}
"""Side -> an official fold of that side (benchmark.data.tasks.split)."""
OLDEST = 120
"""Years."""
SHOWN_SEX = 20
"""Characters of a cell of the sex that are kept."""


def identifier(text: str) -> str:
    """'15709' from '15709.0', as spreadsheets and float columns write whole numbers; any other text as it is."""
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def checked_identifier(text: str) -> str:
    """An identifier as it is. Raises Unusable for one that no results file can hold."""
    if len(text) > LONGEST_ID or not text.isprintable():
        raise Unusable(f"identifier not printable or longer than {LONGEST_ID} characters: {text[:SHOWN]!r}")
    return text


def labels_of(cells: Mapping[str, str], labels: Labels) -> tuple[int, ...]:
    """Indices of the classes of a row, in the order of its cells. Raises Unusable for a label that is no class."""
    if labels.column is None:
        said = [
            (index, _is_said(cells[word])) for index, name in enumerate(labels.classes) for word in labels.words(name)
        ]
        return tuple(dict.fromkeys(index for index, yes in said if yes))
    return classes_of([cells[column] for column in labels.columns], labels)


def classes_of(texts: Sequence[str], labels: Labels) -> tuple[int, ...]:
    """Indices of the classes that cells or comments name, in their order. Raises Unusable as `labels_of`."""
    index_of = {word: index for index, name in enumerate(labels.classes) for word in labels.words(name)}
    stated = [part for text in texts for part in _parts(text, labels.separator)]
    strange = [word for word in stated if word not in index_of and identifier(word) not in index_of]
    if strange and labels.others == "skip":
        raise Unusable(
            f"label is no class; add it to labels.values or set labels.others to ignore: {', '.join(strange)[:SHOWN]}"
        )
    known = [index_of[word] if word in index_of else index_of.get(identifier(word)) for word in stated]
    return tuple(dict.fromkeys(index for index in known if index is not None))


def _parts(cell: str, separator: str | None) -> list[str]:
    parts = cell.split(separator) if separator else [cell]
    return [part.strip() for part in parts if part.strip()]


def _is_said(cell: str) -> bool:
    """Whether the cell of a class says yes; blank is no."""
    said = truth(cell) if cell else False
    if said is None:
        raise Unusable(f"cell of a class is neither yes nor no (1 or 0): {cell[:SHOWN]!r}")
    return said


def fold_of(cell: str, split: Split) -> int:
    """The fold that a cell of the split's column stands for. Raises Unusable for a cell that names no side."""
    for side, words in (("train", split.train), ("validation", split.validation), ("test", split.test)):
        if any(own in (word, word.lower()) for word in words for own in (cell, cell.lower(), identifier(cell))):
            return FOLDS[side]
    raise Unusable(f"no side of the split; name it in table.split: {cell[:SHOWN]!r}")


def sex_of(text: str) -> str:
    """The sex as a cell states it, shortened."""
    return text[:SHOWN_SEX]


def age_of(cell: str) -> float | None:
    """Years, None where a cell states none from 0 to `OLDEST`."""
    try:
        years = float(cell)
    except ValueError:
        return None
    return years if 0 <= years <= OLDEST else None
