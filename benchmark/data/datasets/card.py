"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is. Its files
are found by the path pattern and matched with the rows of the table; a row without a file and a file of no row are
skipped with the reason. Rows of one recording may differ in their labels, which are taken together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal, NamedTuple

import yaml
from pydantic import Field, model_validator

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Recording, Unusable, grouped
from benchmark.data.datasets.card_formats import CardSection, CardSignals, Word, identifiers, read_content, to_recording
from benchmark.data.datasets.folder_walk import FolderWalk, walk_folder
from benchmark.data.datasets.tables import (
    NOT_STATED,
    SHOWN,
    Row,
    Skips,
    group_rows,
    identifier,
    is_latin,
    make_listing,
    patient_of,
    read_table,
    truth,
    whole_number,
)
from benchmark.data.datasets.wfdb_files import comments, signal_files
from benchmark.results.files import digest

RECORDING, PATIENT = "{recording}", "{patient}"
"""Parts of a path pattern that stand for identifiers."""
EXPRESSIONS = {RECORDING: "(?P<recording>[^/]+)", PATIENT: "(?P<patient>[^/]+)", "**/": "(?:[^/]+/)*", "*": "[^/]*"}
"""Part of a path pattern -> the same in a regular expression."""
AGAIN = {RECORDING: "(?P=recording)", PATIENT: "(?P=patient)"}
"""An identifier that stands in a path pattern a second time -> the same in a regular expression: the same text."""
QUESTION = "?"
"""The value of a key that the folder does not tell; a card with one is refused (benchmark.config.load)."""
FOLDS = {"train": 1, "validation": 9, "test": 10}
"""Part of a split -> an official fold of that part (benchmark.data.splits)."""
NO_FILE = "file missing for a row of the table; correct its name or signals.files"
NO_ROW = "file in no row of the table; add its row or narrow signals.files"
ROW = "#"
"""Between the path of a stacked file and the number of a row."""


class CardSplit(CardSection):
    """A split of the data's own: a column, and what stands in it for each part."""

    column: Word
    train: list[Word] = Field(default=["train", "training"])
    validation: list[Word] = Field(default=["validation", "valid", "val", "dev"])
    test: list[Word] = Field(default=["test", "testing"])

    def fold_of(self, cell: str) -> int:
        """Return the fold that a cell stands for. Raises Unusable for a cell that names no part."""
        folds = {word.lower(): fold for part, fold in FOLDS.items() for word in getattr(self, part)}
        fold = folds.get(identifier(cell).lower())
        if fold is None:
            raise Unusable(f"no part of the split; name it in table.split: {cell[:SHOWN]!r}")
        return fold


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
    values: dict[Word, list[Word]] = Field(default={})
    others: Literal["skip", "ignore"] = "skip"
    first_counts: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> CardLabels:
        words = [word for name in self.classes for word in self.words(name)]
        if twice := [word for names in (self.classes, words) for word in names if names.count(word) > 1]:
            raise ValueError(f"labels: {twice[0]!r} stands for two classes")
        if self.column and self.comment:
            raise ValueError("labels: give column or comment, not both")
        return self

    def words(self, name: str) -> list[str]:
        """Return what stands for a class in the table."""
        return self.values.get(name, [name])

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are read: those of labels, else one of yes and no for each word of a class."""
        if self.comment or self.column:
            return [self.column] if isinstance(self.column, str) else self.column or []
        return [word for name in self.classes for word in self.words(name)]

    def indices(self, rows: Sequence[Row], record: Path) -> tuple[int, ...]:
        """Return the indices of the classes of a recording, by its rows or its header, in the order they are stated.

        Raises Unusable for a label that is no class, and for a cell of a class that is no yes, no or blank.
        """
        if self.comment:
            texts = comments(record, self.comment)
        elif self.column:
            texts = tuple(row[column] for row in rows for column in self.columns)
        else:
            texts = tuple(word for word in self.columns if says_yes(rows[0][word]))
        index_of = {one_line(word): index for index, name in enumerate(self.classes) for word in self.words(name)}
        stated = [word for text in texts for word in labels_of(text, self.separator)]
        known = {word: index_of.get(word, index_of.get(identifier(word))) for word in stated}
        unknown = [word for word, index in known.items() if index is None and not NOT_STATED.fullmatch(word)]
        if unknown and self.others == "skip":
            remedy = "add it to labels.values or set labels.others to ignore"
            raise Unusable(f"label is no class; {remedy}: {', '.join(unknown)[:SHOWN]}")
        return tuple(dict.fromkeys(index for index in known.values() if index is not None))


def says_yes(cell: str) -> bool:
    """Tell whether the cell of a class says yes; blank is no. Raises Unusable for anything else."""
    is_yes = truth(cell)
    if cell and is_yes is None:
        raise Unusable(f"cell of a class is neither yes nor no (1 or 0): {cell[:SHOWN]!r}")
    return bool(is_yes)


def one_line(text: str) -> str:
    """Return a label without outer blanks, its inner blanks and line breaks one blank each: a cell may be wrapped."""
    return " ".join(text.split())


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
    parts = members(cell.strip())
    if parts is None:
        parts = cell.split(separator) if separator else [cell]
    return list(dict.fromkeys(filter(None, map(one_line, parts))))


class Card(CardSection):
    """A folder of ECG files, its table and its classes (`base.DatasetKind`)."""

    cite: ClassVar[str] = ""
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
    title: Annotated[str, Field(min_length=1)] = Field(default_factory=lambda values: values.get("name", ""))
    how_to_get: str = ""
    licence: str = ""
    signals: CardSignals
    table: CardTable | None = None
    labels: CardLabels | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Card:
        if self.labels and (self.signals.kind != "wfdb" if self.labels.comment else not self.table):
            raise ValueError(
                "labels: they stand in a table, and WFDB headers have comments: give table.file or comment"
            )
        if self.table and not (self.table.recording or self.table.path):
            raise ValueError(f"table: it needs `recording`, the column with what {RECORDING} is, or `path`")
        return self

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; empty without labels."""
        return tuple(self.labels.classes) if self.labels else ()

    @property
    def first_label_counts(self) -> bool:
        """As `base.DatasetInfo`."""
        return bool(self.labels and self.labels.first_counts)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names its folder has under a data root."""
        return (self.name,)

    @property
    def states_patients(self) -> bool:
        """Whether it says which recordings are of one patient."""
        return PATIENT in self.signals.files or bool(self.table and self.table.patient)

    def __call__(self, root: Path) -> CardDataset:
        """Open the dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


class CardFile(NamedTuple):
    """A file of a card's pattern, or a row of one that holds many recordings."""

    path: str
    """Below the dataset's folder; with '#' and the number of a row."""
    recording: str
    """What {recording} is, else the file's name without suffix."""
    patient: str

    @property
    def name(self) -> str:
        """The recording's name where no table names it, with the patient's folder ahead."""
        return f"{self.patient}/{self.recording}".lstrip("/")


def expression_of(pattern: str) -> str:
    """Return the regular expression of a path pattern."""
    expression = re.escape(pattern)
    for part, meaning in EXPRESSIONS.items():
        escaped = re.escape(part)
        expression = expression.replace(escaped, meaning, 1).replace(escaped, AGAIN.get(part, meaning))
    return expression


def find_files(card: Card, walk: FolderWalk) -> list[CardFile]:
    """Find the files of a card's pattern in a folder, by path, those of a stacked one for each of its rows.

    Raises DatasetError where there is none, with what there is, and where a stacked one cannot be read.
    """
    pattern, present, files = card.signals.files, walk.paths, list[CardFile]()
    expression = expression_of(pattern)
    for path in present:
        if match := re.fullmatch(expression, path):
            parts = {"recording": PurePosixPath(path).stem, "patient": "", **match.groupdict()}
            try:
                names = identifiers(walk.root / path, card.signals) if card.signals.stacked else []
            except Unusable as reason:
                raise DatasetError(f"{card.title}: {path}: {reason}") from None
            rows = [CardFile(f"{path}{ROW}{row}", name, parts["patient"]) for row, name in enumerate(names)]
            files += rows if card.signals.stacked else [CardFile(path, **parts)]
    if not files:
        raise DatasetError(
            f"{card.title}: no file in {walk.root} matches signals.files {pattern!r}: there are {len(present)} "
            f"files, e.g. {', '.join(present[:3])}; correct the pattern or give the folder by --data{walk.remark}"
        )
    return files


class CardDataset:
    """A card and a folder (`base.Dataset`)."""

    drawn_from = ""

    def __init__(self, card: Card, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title, self.how_to_get = card.name, card.title, card.how_to_get
        self.classes, self.first_label_counts = card.classes, card.first_label_counts

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the files an entry is read from."""
        path, _ = self._file_and_row(entry)
        return (path, *signal_files(path.with_suffix(""))) if self.card.signals.kind == "wfdb" else (path,)

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable, also where the file contradicts the card."""
        return to_recording(read_content(*self._file_and_row(entry), self.card.signals), self.card.signals)

    def _file_and_row(self, entry: Entry) -> tuple[Path, int | None]:
        """The file of an entry, and its row in a stacked one."""
        path, _, row = entry.path.rpartition(ROW) if self.card.signals.stacked else (entry.path, "", "")
        return self.root / path, int(row) if row else None

    def listing(self) -> Listing:
        """List a recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, or the table lacks what the card names of it.
        """
        walk, table = walk_folder(self.root), self.card.table
        files = find_files(self.card, walk)
        files_of = files_by_name(files)
        rows, skipped = self._rows(table) if table else ({file.name: [Row()] for file in files}, Skips())
        is_by_number = self.card.signals.stacked and not self.card.signals.ids_name
        if table and is_by_number and {*rows} != {file.recording for file in files}:
            raise DatasetError(
                f"{self.title}: the rows of {self.card.signals.files} count from 0 in each file, {len(files)} in all, "
                f"and {table.file} has {len(rows)} recordings, {next(iter(rows), '')!r} first, in {table.recording}: "
                "number them as the rows, or name the array of their identifiers by signals.ids_name"
            )
        cells = {name: same[0][table.path] if table and table.path else name for name, same in rows.items()}
        matched = {name: match_file(cell, files_of) for name, cell in cells.items()}
        form = f"{self.card.signals.kind} files of a card"
        listing = make_listing(rows, lambda name, same: self._entry(name, same, matched[name]), form, skipped)
        in_rows = {name: files_of.get(name, []) for name, _ in skipped} | matched
        of_rows = {file.path for some in in_rows.values() for file in some}
        unlisted = [(file.recording, f"{NO_ROW}: {file.path}") for file in files if file.path not in of_rows]
        return replace(
            listing,
            skipped=(*listing.skipped, *unlisted),
            warnings=(*walk.warnings, *(self._warnings(listing.entries, rows, table) if table else ())),
            reading=digest(self.card.model_dump(mode="json")),
        )

    def _rows(self, table: CardTable) -> tuple[dict[str, list[Row]], Skips]:
        """Recording -> its rows, which may differ in their labels alone, and the skipped ones."""
        labels = self.card.labels
        named = [table.recording, table.path, table.patient, table.parts and table.parts.column, table.report]
        columns = list(dict.fromkeys(name for name in (*named, *(labels.columns if labels else ())) if name))
        free = {columns[0], *(labels.columns if labels and labels.column else ())}
        return group_rows(read_table(self, self.root / table.file, columns), columns[0], identifier, free)

    def _entry(self, name: str, rows: Sequence[Row], files: Sequence[CardFile]) -> Entry:
        """The entry of a recording. Raises Unusable."""
        table, labels, row = self.card.table or CardTable(file=""), self.card.labels, rows[0]
        if len(files) != 1:
            several = ", ".join(file.path for file in files)[:200]
            raise Unusable(f"several files of one recording; narrow signals.files: {several}" if files else NO_FILE)
        stated = row[table.patient] if table.patient else files[0].patient
        return Entry(
            recording=name,
            patient=patient_of(stated) or (nobody(name) if table.patient or stated else name),
            path=files[0].path,
            labels=labels.indices(rows, (self.root / files[0].path).with_suffix("")) if labels else (),
            report=row[table.report] if table.report else "",
            fold=table.parts.fold_of(row[table.parts.column]) if table.parts else None,
        )

    def _warnings(self, entries: Sequence[Entry], rows: Mapping[str, list[Row]], table: CardTable) -> list[str]:
        """What was odd in the table and could be read in one way only."""
        warnings = list[str]()
        if is_latin(self.root / table.file):
            warnings.append(f"{table.file} is not UTF-8 and was read as Latin-1: save it as UTF-8")
        if several := sum(len(same) > 1 for same in rows.values()):
            warnings.append(f"{several} recordings have several rows, whose labels are taken together")
        if unknown := sum(entry.patient == nobody(entry.recording) for entry in entries):
            count = f"{unknown} of {len(entries)} recordings"
            column = table.patient or PATIENT
            warnings.append(f"{count} name no patient in the column {column} and count as a person each")
        return warnings


def files_by_name(files: Iterable[CardFile]) -> dict[str, list[CardFile]]:
    """Group files by what a row may call them: their recording, or any end of their path, with and without suffix.

    A whole number also goes by its value: spreadsheets drop leading zeros.
    """
    pairs = list[tuple[str, CardFile]]()
    for file in files:
        ends = [file.path.split("/", count)[-1] for count in range(file.path.count("/") + 1)]
        names = [file.name, file.recording, *ends, *(os.path.splitext(end)[0] for end in ends)]
        pairs += [(name, file) for name in {*names, whole_number(file.recording) or file.name}]
    return grouped(pairs)


def match_file(cell: str, files_of: Mapping[str, list[CardFile]]) -> list[CardFile]:
    """Return the files that a cell names; of several, the one whose whole path it is."""
    path = PurePosixPath(cell.replace("\\", "/")).as_posix()
    files = files_of.get(path, [])
    return [file for file in files if path in (file.path, os.path.splitext(file.path)[0])] or files


def nobody(recording: str) -> str:
    """Return the person of a recording whose patient is not known."""
    return f"?{recording}"
