"""Sections of a card: what the files of a folder and the columns of its table mean, and what their cells say."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.tables import SHOWN, Row, identifier, truth

RECORDING, PATIENT = "{recording}", "{patient}"
"""Parts of a path pattern that stand for identifiers."""
QUESTION = "?"
"""The value of a key that the folder does not tell; a card with one is refused (benchmark.config.load)."""
FOLDS = {"train": 1, "validation": 9, "test": 10}
"""Part of a split -> an official fold of that part (benchmark.data.splits)."""
Format = Literal["wfdb", "numpy", "csv", "hdf5", "export"]
SUFFIXES: dict[str, Format] = {
    ".hea": "wfdb",
    **dict.fromkeys((".npy", ".npz"), "numpy"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".h5", ".hdf5"), "hdf5"),
    **dict.fromkeys((".edf", ".dcm", ".scp", ".xml", ".ecg", ".mwf"), "export"),
}
"""Suffix of the files -> their format, where the card states none; of an export, the content tells which."""
ARRAYS = ("numpy", "hdf5")
"""Formats without names of leads, in which a recording is an array."""
NO_LEAD = "-"
"""In the place of a lead: a column that is not used."""


def known_lead(name: str) -> str:
    """Return the lead of a name in any capitals, or '-'. Raises ValueError for an unknown one, with the nearest."""
    leads = {lead.upper(): lead for lead in (*LEADS, NO_LEAD)}
    near = get_close_matches(name.strip().upper(), leads, n=1)
    if not near or near[0] != name.strip().upper():
        hint = f" (did you mean {leads[near[0]]!r}?)" if near else ""
        raise ValueError(f"unknown lead {name!r}{hint}; there are {', '.join(LEADS)}")
    return leads[near[0]]


def _number_as_text(value: Any) -> Any:
    """A number of YAML as the text that stands in a table: 9 as '9'."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Word = Annotated[str, BeforeValidator(_number_as_text), Field(min_length=1)]
"""A value of a table's cell or the name of a column; a number counts as its text."""
LeadName = Annotated[Word, AfterValidator(known_lead)]


class CardSection(BaseModel):
    """A part of a card, strictly typed; unknown keys are refused. docs/OWN_DATA.md says what each key means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class CardSignals(CardSection):
    """The files of the signals and what their numbers mean."""

    files: str
    format: Format | None = None
    rate: Annotated[float, Field(ge=50, le=10_000)] | None = None
    unit: Literal["V", "mV", "uV", "nV"] | None = None
    gain: Annotated[float, Field(gt=0)] | None = None
    leads: list[LeadName] | dict[Word, LeadName] | None = None
    array: Word | None = None
    rate_name: Word | None = None
    stacked: bool = False
    ids_name: Word | None = None
    derive: bool = False

    @model_validator(mode="after")
    def _complete(self) -> CardSignals:
        if not self.format and PurePosixPath(self.files).suffix.lower() not in SUFFIXES:
            raise ValueError(
                f"signals.files: the suffix of {self.files!r} says no format: end the pattern in "
                f"{', '.join(SUFFIXES)}, or give signals.format"
            )
        if self.unit and self.gain:
            raise ValueError("signals: give unit or gain, not both")
        return self

    @property
    def kind(self) -> Format:
        """The format of the files."""
        return self.format or SUFFIXES[PurePosixPath(self.files).suffix.lower()]


class CardSplit(CardSection):
    """A split of the data's own: a column, and what stands in it for each part."""

    column: Word
    train: list[Word] = ["train", "training"]
    validation: list[Word] = ["validation", "valid", "val", "dev"]
    test: list[Word] = ["test", "testing"]

    def fold_of(self, cell: str) -> int:
        """Return the fold that a cell stands for. Raises Unusable for a cell that names no part."""
        for part, words in (("train", self.train), ("validation", self.validation), ("test", self.test)):
            if {cell, cell.lower(), identifier(cell)} & {*words, *map(str.lower, words)}:
                return FOLDS[part]
        raise Unusable(f"no part of the split; name it in table.split: {cell[:SHOWN]!r}")


class CardTable(CardSection):
    """The table of recordings and the names of its columns."""

    file: str
    recording: Word | None = None
    path: Word | None = None
    patient: Word | None = None
    split: Word | CardSplit | None = None
    report: Word | None = None

    @property
    def parts(self) -> CardSplit | None:
        """The split, with the values of its parts."""
        return CardSplit(column=self.split) if isinstance(self.split, str) else self.split


class CardLabels(CardSection):
    """Which cells of the table, or comments of the headers, make which classes."""

    classes: Annotated[list[Word], Field(min_length=2)]
    column: Word | list[Word] | None = None
    comment: Word | None = None
    separator: Annotated[str, Field(min_length=1)] | None = None
    values: dict[Word, list[Word]] = {}
    others: Literal["skip", "ignore"] = "skip"
    first_counts: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> CardLabels:
        words = [word for name in self.classes for word in self.words(name)]
        twice = [word for names in (self.classes, words) for word in names if names.count(word) > 1]
        if unknown := self.values.keys() - {*self.classes}:
            raise ValueError(f"labels.values: {min(unknown)!r} is not in labels.classes")
        if twice:
            raise ValueError(f"labels: {twice[0]!r} stands for two classes")
        if self.column and self.comment:
            raise ValueError("labels: give column or comment, not both")
        return self

    def words(self, name: str) -> list[str]:
        """Return what stands for a class in the table."""
        return self.values.get(name, [name])

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are read."""
        if self.comment:
            return []
        if self.column is None:
            return [word for name in self.classes for word in self.words(name)]
        return [self.column] if isinstance(self.column, str) else self.column

    def of_columns(self, cells: Row) -> tuple[int, ...]:
        """Return the indices of the classes whose columns say yes. Raises Unusable for what is no yes, no or blank."""
        answers = {word: truth(cells[word]) if cells[word] else False for word in self.columns}
        for word, answer in answers.items():
            if answer is None:
                raise Unusable(f"cell of a class is neither yes nor no (1 or 0): {cells[word][:SHOWN]!r}")
        return tuple(
            index for index, name in enumerate(self.classes) if any(answers[word] for word in self.words(name))
        )

    def of_texts(self, texts: Iterable[str]) -> tuple[int, ...]:
        """Return the indices of the classes that cells or comments name, in order. Raises Unusable for other labels."""
        index_of = {one_line(word): index for index, name in enumerate(self.classes) for word in self.words(name)}
        stated = [word for text in texts for word in labels_of(text, self.separator)]
        known = {word: index_of.get(word, index_of.get(identifier(word))) for word in stated}
        if self.others == "skip" and (unknown := [word for word, index in known.items() if index is None]):
            remedy = "add it to labels.values or set labels.others to ignore"
            raise Unusable(f"label is no class; {remedy}: {', '.join(unknown)[:SHOWN]}")
        return tuple(dict.fromkeys(index for index in known.values() if index is not None))


def one_line(text: str) -> str:
    """Return a label without outer blanks, its inner blanks and line breaks one blank each: a cell may be wrapped."""
    return " ".join(text.split())


def members(cell: str) -> list[str] | None:
    """Return the members of a cell that is a list in Python's, NumPy's or JSON's form, or a dictionary's keys.

    None where the cell is neither.
    """
    if not re.fullmatch(r"\[.*\]|\{.*\}|\(.*\)", cell, re.DOTALL):
        return None
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError):
            value = read(re.sub(r"""(['"])\s+(?=['"])""", r"\1, ", cell))  # NumPy writes no commas
            return [str(member) for member in (value if isinstance(value, list | tuple | dict | set) else [value])]
    inside = cell[1:-1]
    return [part for part in re.split("[,;]" if re.search("[,;]", inside) else r"\s+", inside) if part.strip()]


def labels_of(cell: str, separator: str | None) -> list[str]:
    """Return the labels of a cell, each once: the card's separator splits it, else it is one label or a list."""
    parts = members(cell.strip())
    if parts is None:
        parts = cell.split(separator) if separator else [cell]
    return list(dict.fromkeys(filter(None, map(one_line, parts))))
