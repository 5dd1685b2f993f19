"""The section `labels` of a card: which cells of the table, or comments of the headers, make which classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Literal

import yaml
from pydantic import Field, model_validator

from benchmark.data.datasets.base import ClassIndices, Unusable, some
from benchmark.data.datasets.card_formats import CardSection, Word
from benchmark.data.datasets.tables import SHORTENED, SHOWN, Row
from benchmark.results.canonical import (
    alike,
    decoded,
    identifier,
    is_shortened,
    remarks,
    spellings,
    states_nothing,
    text,
    truth,
)
from benchmark.results.names import unknown


class CardLabels(CardSection):
    """The classes, and the cells of the table or comments of the headers that make them."""

    classes: Annotated[list[Word], Field(min_length=2)]
    column: Word | list[Word] | None = None
    comment: Word | None = None
    separator: Annotated[str, Field(min_length=1)] | None = None
    values: dict[Word, list[Word]] = Field(default={})
    others: Literal["skip", "ignore"] = "skip"
    blank: Literal["no", "skip"] = "no"
    first_counts: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> CardLabels:
        words = [word for name in self.classes for word in self.words(name)]
        if twice := [word for names in (self.classes, words) for word in names if names.count(word) > 1]:
            raise ValueError(f"{twice[0]!r} stands for two classes")
        if self.column and self.comment:
            raise ValueError("give column or comment, not both")
        for name in self.values:
            if name not in self.classes:
                raise ValueError(unknown("class in values", name, self.classes))
        return self

    def words(self, name: str) -> list[str]:
        """Return what stands for a class in the table."""
        return self.values.get(name, [name])

    @property
    def has_a_column_a_class(self) -> bool:
        """Tell whether a column for each class says yes or no."""
        return not self.column and not self.comment

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table that are read: those of labels, else one of yes and no for each word of a class."""
        if self.has_a_column_a_class:
            return [*self.index_of]
        return [self.column] if isinstance(self.column, str) else self.column or []

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Label -> index of the class it stands for."""
        return {word: index for index, name in enumerate(self.classes) for word in self.words(name)}

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Return what the rows of a recording state as its labels, as it is written.

        Raises Unusable for a cell of a class that is no yes, no or blank, and for a blank one where `blank` is skip.
        """
        if self.column:
            return [row[column] for row in rows for column in self.columns]
        if self.blank == "skip" and (blanks := self.blanks(rows[0])):
            raise Unusable(f"cell of a class is blank and labels.blank is skip: {', '.join(blanks)[:SHOWN]}")
        return [word for word in self.columns if says_yes(rows[0][word])]

    def blanks(self, row: Row) -> list[str]:
        """Return the columns of classes whose cells are blank: nobody said yes or no."""
        return [word for word in self.columns if states_nothing(row[word])] if self.has_a_column_a_class else []

    def index(self, word: str) -> int | None:
        """Return the index of the class that a label stands for; None for none."""
        return self.index_of.get(word, self.index_of.get(identifier(word)))

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Return the labels that are no class."""
        return [word for word in words if self.index(word) is None and not states_nothing(word)]

    def indices(self, texts: Iterable[str]) -> ClassIndices:
        """Return the indices of the classes that texts state, in their order.

        Raises Unusable for a label that is no class, or has lost its digits.
        """
        stated = [word for written in texts for word in labels_of(written, self.separator)]
        if shortened := [*filter(is_shortened, stated)]:
            raise Unusable(f"label's number {SHORTENED}: {shortened[0][:SHOWN]!r}")
        if self.others == "skip" and (unknown := self.unknown(stated)):
            remedy = "add it to labels.values or set labels.others to ignore"
            raise Unusable(f"label is no class; {remedy}: {', '.join(unknown)[:SHOWN]}")
        indices = dict.fromkeys(map(self.index, stated))
        return tuple(index for index in indices if index is not None)

    def remarks(self, texts: Sequence[str]) -> list[str]:
        """Say which labels differ in capitals or blanks alone and are not of one class, and what was made canonical.

        texts: of all recordings.
        """
        counts = Counter[str]()
        for written, count in Counter(texts).items():
            for word in labels_of(written, self.separator):
                counts[word] += count
        lines = remarks("labels", [(text(written), written) for written in texts])
        for words in spellings((alike(word), word) for word in [*counts, *self.index_of]).values():
            if len({self.index_of.get(word) for word in words}) > 1:
                names = " and ".join(map(repr, words))
                lines.append(f"labels differ in capitals or blanks alone; name them in labels.values: {names}")
        ignored = Counter({word: counts[word] for word in self.unknown(counts)})
        if self.others == "ignore" and ignored:
            named = some([f"{word} {count}" for word, count in ignored.most_common()])
            lines.append(f"{ignored.total()} labels are no class and are ignored (labels.others): {named}")
        return lines


def says_yes(cell: str) -> bool:
    """Tell whether the cell of a class says yes; one that states nothing is no. Raises Unusable for anything else."""
    is_yes = truth(cell)
    if is_yes is None and not states_nothing(cell):
        raise Unusable(f"cell of a class is neither yes nor no; write 1, 0 or nothing: {cell[:SHOWN]!r}")
    return bool(is_yes)


def members(cell: str) -> list[str] | None:
    """Return the members of a cell that is a list, or a dictionary's keys, as Python, NumPy, JSON or YAML write it.

    None where the cell is neither, or its members are lists.
    """
    if not re.fullmatch(r"\[.*\]|\{.*\}|\(.*\)", cell, re.DOTALL):
        return None
    text = f"[{cell[1:-1]}]" if cell[0] == "(" else cell
    with_commas = re.sub(r"""(?<=['"\d])\s+(?=['"\d])|;""", ", ", text)  # NumPy writes none
    try:
        labels = [*yaml.load(with_commas, Loader=yaml.BaseLoader)]
    except (yaml.YAMLError, RecursionError):
        return None
    return labels if all(isinstance(label, str) for label in labels) else None


def labels_of(cell: str, separator: str | None) -> list[str]:
    """Return the labels of a cell, each once: the card's separator splits it, else it is one label or a list."""
    cell = decoded(cell.strip())
    parts = members(cell)
    if parts is None:
        parts = cell.split(separator) if separator else [cell]
    return list(dict.fromkeys(filter(None, map(text, parts))))
