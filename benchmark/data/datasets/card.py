"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from benchmark.data.datasets.base import LEADS

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}", re.ASCII)


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError("a name has up to 60 small letters, digits, _ and -, and begins with a letter or digit")
    return text


def _printable(text: str) -> str:
    """The text, if it is one line. Raises ValueError."""
    if not text.isprintable():
        raise ValueError("one line of printable text was expected")
    return text


def _text(value: Any) -> Any:
    """A number of YAML as the text that stands in a table: 9 as '9'."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Line = Annotated[str, AfterValidator(_printable), Field(max_length=200)]
Word = Annotated[str, BeforeValidator(_text), AfterValidator(_printable), Field(min_length=1, max_length=200)]
"""A value of a table's cell or the name of a column; a number counts as its text."""


class Part(BaseModel):
    """A part of a card, strictly typed; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


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
NO_UNITS = (*ARRAYS, "csv")
"""Formats that do not state units; of these CSV does not state the rate either."""
RECORDING, PATIENT = "{recording}", "{patient}"
"""Parts of a path pattern that stand for identifiers."""
NO_LEAD = "-"
"""In the place of a lead: a column that is not used."""
Unit = Literal["V", "mV", "uV", "nV"]


def known_lead(name: str) -> str:
    """The lead of a name in any capitals. Raises ValueError for an unknown one, with the nearest."""
    found = {lead.lower(): lead for lead in LEADS}.get(name.strip().lower())
    if found is None:
        near = get_close_matches(name.strip().upper(), [lead.upper() for lead in LEADS], n=1)
        hint = f" (did you mean {next(lead for lead in LEADS if lead.upper() == near[0])!r}?)" if near else ""
        raise ValueError(f"unknown lead {name!r}{hint}; there are {', '.join(LEADS)}")
    return found


class Signals(Part):
    """The files of the signals and what their numbers mean."""

    files: Line
    """Paths of the files below the dataset's folder: * any part of a name, **/ any folders, {recording} the recording's
    identifier, {patient} the patient's. Without {recording} the table has a column of paths."""
    format: Format | None = None
    """By default as the files' suffix says."""
    rate: Annotated[float, Field(ge=50, le=10_000)] | None = None
    """Hz. Where the files state it too, a contradiction rules the recording out."""
    unit: Unit | None = None
    """Of the numbers, where the files state none or none of a voltage."""
    gain: Annotated[float, Field(gt=0)] | None = None
    """Steps per millivolt, in place of a unit."""
    leads: list[Word] | dict[Word, Word] | None = None
    """Names of the columns in their order, '-' for one that is not used; or the files' names of leads -> the leads."""
    array: Word | None = None
    """Name of the array of an .npz or HDF5 file that holds the signal, if it has several."""
    rate_name: Word | None = None
    """Name of the entry of an .npz or HDF5 file (there also an attribute) that holds the rate."""
    stacked: bool = False
    """Whether a .npy or HDF5 file holds many recordings, a row each: (N, n, L) or (N, L, n)."""
    ids_name: Word | None = None
    """Name of the entry of a stacked HDF5 file with the identifiers of its rows; by default these are 0, 1, ..."""
    derive: bool = False
    """Compute limb leads that a file lacks from two that it has (Einthoven's and Goldberger's laws)."""

    @field_validator("files")
    @classmethod
    def _below_the_folder(cls, files: str) -> str:
        parts = PurePosixPath(files).parts
        if not parts or files.startswith("/") or ".." in parts or "\\" in files:
            raise ValueError("a pattern below the dataset's folder was expected, e.g. waveforms/{recording}.hea")
        for name in (RECORDING, PATIENT):
            if files.count(name) > 1:
                raise ValueError(f"{name} may stand once")
        if "{" in files.replace(RECORDING, "").replace(PATIENT, ""):
            raise ValueError(f"there are {RECORDING} and {PATIENT}, nothing else in braces")
        if any("**" in part and part != "**" for part in parts) or parts[-1] == "**":
            raise ValueError("** stands for whole folders: **/ before the name of the files")
        return files

    @field_validator("leads")
    @classmethod
    def _known(cls, leads: list[str] | dict[str, str] | None) -> list[str] | dict[str, str] | None:
        if leads is None:
            return None
        named = [*(leads.values() if isinstance(leads, dict) else leads)]
        used = [known_lead(lead) for lead in named if lead != NO_LEAD]
        twice = [lead for lead in dict.fromkeys(used) if used.count(lead) > 1]
        if twice:
            raise ValueError(f"lead {twice[0]} stands twice")
        if isinstance(leads, dict):
            return {own: lead if lead == NO_LEAD else known_lead(lead) for own, lead in leads.items()}
        return [lead if lead == NO_LEAD else known_lead(lead) for lead in leads]

    @model_validator(mode="after")
    def _one_meaning(self) -> Signals:
        if self.unit and self.gain:
            raise ValueError("signals: give unit or gain, not both")
        suffix = PurePosixPath(self.files).suffix.lower()
        if self.format is None and suffix not in SUFFIXES:
            raise ValueError(
                f"signals.files: the suffix {suffix or 'of ' + repr(self.files)} says no format: "
                f"end the pattern in {', '.join(SUFFIXES)}, or give signals.format"
            )
        if self.kind in NO_UNITS and not (self.unit or self.gain):
            raise ValueError(f"signals: {self.kind} files do not state a unit: give unit (mV, uV) or gain")
        if self.kind in NO_UNITS and not (self.rate or self.rate_name):
            raise ValueError(f"signals.rate: {self.kind} files do not state it by themselves: give it in Hz")
        if self.kind in ARRAYS and not isinstance(self.leads, list):
            raise ValueError(f"signals.leads: {self.kind} files do not name them: list the leads in their order")
        for name in ("array", "rate_name"):
            if getattr(self, name) and (self.kind not in ARRAYS or suffix == ".npy"):
                raise ValueError(f"signals.{name}: of .npz and HDF5 files alone; leave it out")
        if self.stacked and (self.kind not in ARRAYS or suffix == ".npz"):
            raise ValueError("signals.stacked: of .npy and HDF5 files alone; save the arrays as one of these")
        if self.stacked and RECORDING in self.files:
            raise ValueError(f"signals.files: {RECORDING} names one recording a file, and stacked says many")
        if self.ids_name and not (self.stacked and self.kind == "hdf5"):
            raise ValueError("signals.ids_name: of stacked HDF5 files alone; leave it out")
        return self

    @property
    def kind(self) -> Format:
        """The format of the files."""
        return self.format or SUFFIXES[PurePosixPath(self.files).suffix.lower()]


class Split(Part):
    """A split of the data's own: a column, and what stands in it for each side."""

    column: Word
    train: list[Word] = ["train", "training"]
    validation: list[Word] = ["validation", "valid", "val", "dev"]
    test: list[Word] = ["test", "testing"]


class Table(Part):
    """The table of recordings and the names of its columns."""

    file: Line
    """CSV, TSV, XLSX (its first sheet) or Parquet, below the dataset's folder."""
    recording: Word | None = None
    """Identifiers: what {recording} is in the path pattern. With `path` any, by default the path."""
    path: Word | None = None
    """Paths of the files below the dataset's folder, with or without suffix."""
    patient: Word | None = None
    """Without, every recording is a patient of its own."""
    split: Word | Split | None = None
    """A split of the data's own; a name alone is that of a column with train, validation and test."""
    report: Word | None = None
    sex: Word | None = None
    age: Word | None = None
    """Years."""

    @field_validator("file")
    @classmethod
    def _below_the_folder(cls, file: str) -> str:
        if file.startswith("/") or ".." in PurePosixPath(file).parts or not file:
            raise ValueError("a file below the dataset's folder was expected")
        return file

    @property
    def sides(self) -> Split | None:
        """The split, with the values of its sides."""
        return Split(column=self.split) if isinstance(self.split, str) else self.split


class Labels(Part):
    """Which cells of the table, or comments of the headers, make which classes."""

    classes: Annotated[list[Word], Field(min_length=2)]
    """In the order of columns of a confusion matrix."""
    column: Word | list[Word] | None = None
    """Column or columns whose cells name classes. Without, every class has a column of its own with yes or no."""
    comment: Word | None = None
    """In place of columns: the comments of WFDB headers, '#NAME: labels', with this name in any capitals."""
    separator: Annotated[str, Field(min_length=1, max_length=5)] | None = None
    """Between the labels of a cell or comment."""
    values: dict[Word, list[Word]] = {}
    """Class -> cell values that stand for it (columns, where every class has its own), in place of its name."""
    others: Literal["skip", "ignore"] = "skip"
    """A label that is no class: skip the recording, or ignore the label."""
    first_counts: bool = False
    """In a single-label task under `protocol: paper`, the first label stands for the recording; else only one may."""

    @model_validator(mode="after")
    def _consistent(self) -> Labels:
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("labels.classes: a class stands twice")
        unknown = [name for name in self.values if name not in self.classes]
        if unknown:
            raise ValueError(f"labels.values: {unknown[0]!r} is not in labels.classes")
        words = [word for name in self.classes for word in self.words(name)]
        twice = [word for word in words if words.count(word) > 1]
        if twice:
            raise ValueError(f"labels.values: {twice[0]!r} stands for two classes")
        if self.column and self.comment:
            raise ValueError("labels: give column or comment, not both")
        if self.separator and not (self.column or self.comment):
            raise ValueError("labels.separator: of labels.column or labels.comment, neither of which is given")
        return self

    def words(self, name: str) -> list[str]:
        """What stands for a class in the table."""
        return self.values.get(name, [name])

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are read."""
        if self.comment:
            return []
        if self.column is None:
            return [word for name in self.classes for word in self.words(name)]
        return [self.column] if isinstance(self.column, str) else self.column


class Card(Part):
    """A folder of ECG files, its table and its classes; `dataset.CardSource` opens the folder."""

    name: Annotated[str, AfterValidator(_name)]
    """Its name in flags, tables and results."""
    title: Annotated[Line, Field(min_length=1)]
    """As printed in a table; by default the name."""
    how_to_get: Line = ""
    """One line for those who lack the data: where it is had, or whom to ask."""
    licence: Line = ""
    """Of the data, for the model cards of what is pretrained on them."""
    signals: Signals
    table: Table | None = None
    """Without, every file is a recording without labels, to pretrain on."""
    labels: Labels | None = None

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, values: Any) -> Any:
        return {"title": values["name"], **values} if isinstance(values, dict) and "name" in values else values

    @model_validator(mode="after")
    def _whole(self) -> Card:
        by_name, table = RECORDING in self.signals.files or self.signals.stacked, self.table
        if self.labels and self.labels.comment and self.signals.kind != "wfdb":
            raise ValueError("labels.comment: of WFDB headers alone; give a table and labels.column")
        if self.labels and not self.labels.comment and table is None:
            raise ValueError("labels: they stand in a table, and the card has none: give table.file or labels.comment")
        if table is None and not by_name:
            raise ValueError(f"signals.files: without a table it needs {RECORDING}, e.g. waveforms/{RECORDING}.hea")
        if table and by_name and (table.path or not table.recording):
            raise ValueError(f"table: with {RECORDING} in signals.files, or stacked, it needs `recording`, not `path`")
        if table and not by_name and not table.path:
            raise ValueError(f"table: without {RECORDING} in signals.files it needs `path`, the column of the files")
        if table and table.patient and PATIENT in self.signals.files:
            raise ValueError(f"table.patient: {PATIENT} in signals.files says it already; give one of them")
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty without labels."""
        return tuple(self.labels.classes) if self.labels else ()

    @property
    def first_label_counts(self) -> bool:
        """As `base.About`."""
        return bool(self.labels and self.labels.first_counts)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root."""
        return (self.name,)

    @property
    def states_patients(self) -> bool:
        """Whether it says which recordings are of one patient."""
        return PATIENT in self.signals.files or bool(self.table and self.table.patient)


QUESTION = "?"
"""The value of a key that the folder does not tell; a card with one is refused (benchmark.config.words)."""


class DraftLine(NamedTuple):
    """A key of a section."""

    key: str
    value: Any
    """None: the line is a comment that shows what may be added."""
    comment: str = ""

    def text(self, indent: str) -> str:
        """The line as YAML."""
        comment = f"  # {' '.join(self.comment.split())}" if self.comment else ""
        if self.value is None:
            return f"{indent}# {self.key}: ...{comment}"
        return f"{indent}{self.key}: {flow(self.value)}{comment}"


def open_line(key: str, question: str) -> DraftLine:
    """A line that the user must answer."""
    return DraftLine(key, QUESTION, f"QUESTION: {question}")


def flow(value: Any) -> str:
    """A value in YAML's flow style; texts are quoted where YAML could read anything else."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(own)}" for key, own in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and value.replace("_", "").replace("-", "").isalpha() and value.isascii():
        return value if value.lower() not in ("true", "false", "null") and value[0].isalpha() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)
