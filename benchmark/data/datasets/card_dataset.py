"""The dataset of a card in a folder: its files matched with the rows of its table, its signals by their format."""

from __future__ import annotations

import csv
import glob
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from benchmark.data.datasets.base import About, Dataset, DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.card import PATIENT, RECORDING, Card, Labels, Split
from benchmark.data.datasets.card import Table as CardTable
from benchmark.data.datasets.card_formats import READERS, Reader, recording_of
from benchmark.data.datasets.tables import (
    OLDEST,
    SHOWN,
    Row,
    Table,
    header_of,
    keyed,
    listing_of,
    path_within,
    read_parquet,
    read_table,
    read_workbook,
    select,
    spelt_apart,
    truth,
    years_of,
)
from benchmark.data.datasets.wfdb_files import comments
from benchmark.results.schema import digest

LONGEST_ID = 250
"""Characters of an identifier."""
EXAMPLES = 3
MOST_LOOKED_AT = 10_000
"""Files of the folder that are looked at for an example of what is there."""
PART = re.compile(r"\{recording\}|\{patient\}|\*\*/|\*")
EXPRESSION = {RECORDING: r"(?P<recording>[^/]+)", PATIENT: r"(?P<patient>[^/]+)", "**/": "(?:[^/]+/)*", "*": "[^/]*"}
GLOB = {RECORDING: "*", PATIENT: "*", "**/": "**/", "*": "*"}
"""Part of a pattern -> the same in a regular expression, and in a glob pattern."""


class Found(NamedTuple):
    """A file of a pattern."""

    path: str
    """Below the dataset's folder."""
    recording: str
    """'' where the pattern has no {recording}."""
    patient: str


def files_of(card: Card, root: Path) -> list[Found]:
    """The files of a card's pattern, by path. Raises DatasetError where there is none, with what there is."""
    pattern = card.signals.files
    meaning = re.compile(_translated(pattern, EXPRESSION, re.escape))
    found = []
    for path in root.glob(_translated(pattern, GLOB, glob.escape)):
        name = path.relative_to(root).as_posix()
        match = meaning.fullmatch(name)
        if match and path.is_file():
            parts = match.groupdict()
            found.append(Found(name, parts.get("recording", ""), parts.get("patient", "")))
    if not found:
        raise DatasetError(f"{card.title}: no file in {root} matches signals.files {pattern!r}{_there(root)}")
    return sorted(found)


def _translated(pattern: str, meaning: Mapping[str, str], escape: Callable[[str], str]) -> str:
    """A pattern in another language of patterns."""
    parts, end = [], 0
    for match in PART.finditer(pattern):
        parts += [escape(pattern[end : match.start()]), meaning[match[0]]]
        end = match.end()
    return "".join([*parts, escape(pattern[end:])])


def _there(root: Path) -> str:
    """'; there are 400 .hea (e.g. waves/a.hea)': the most frequent suffixes of a folder."""
    names: dict[str, list[str]] = defaultdict(list)
    for folder, _, files in os.walk(root):
        for path in (Path(folder, file).relative_to(root) for file in sorted(files)):
            names[path.suffix.lower()].append(path.as_posix())
        if sum(map(len, names.values())) > MOST_LOOKED_AT:
            break
    if not names:
        return ": it is empty"
    most = sorted(names, key=lambda suffix: -len(names[suffix]))[:EXAMPLES]
    examples = [f"{len(names[suffix])} {suffix or 'without suffix'} (e.g. {min(names[suffix])})" for suffix in most]
    return f": there are {', '.join(examples)}; correct the pattern or give the folder by --data"


NOT_STATED = ("", "nan", "na", "n/a", "none", "null", "unknown", "-")
"""Cells in lower case that state no age."""
WHOLE = re.compile(r"(\d+)\.0*", re.ASCII)
FOLDS = {"train": 1, "validation": 9, "test": 10}
"""Side -> an official fold of that side (benchmark.data.splits)."""
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
    if labels.column is not None:
        return classes_of([cells[column] for column in labels.columns], labels)
    said = [(index, says_yes(cells[word])) for index, name in enumerate(labels.classes) for word in labels.words(name)]
    return tuple(dict.fromkeys(index for index, yes in said if yes))


def classes_of(texts: Sequence[str], labels: Labels) -> tuple[int, ...]:
    """Indices of the classes that cells or comments name, in their order. Raises Unusable as `labels_of`."""
    index_of = {one_line(word): index for index, name in enumerate(labels.classes) for word in labels.words(name)}
    parts = [part for text in texts for part in (text.split(labels.separator) if labels.separator else [text])]
    stated = list(map(one_line, parts))
    known = {word: index_of.get(word, index_of.get(identifier(word))) for word in stated if word}
    strange = [word for word in stated if word and known[word] is None]
    if strange and labels.others == "skip":
        raise Unusable(
            f"label is no class; add it to labels.values or set labels.others to ignore: {', '.join(strange)[:SHOWN]}"
        )
    return tuple(dict.fromkeys(index for index in known.values() if index is not None))


def one_line(text: str) -> str:
    """A label without outer blanks, its inner blanks and line breaks one blank each: a cell may be wrapped."""
    return " ".join(text.split())


def says_yes(cell: str) -> bool:
    """Whether the cell of a class says yes; blank is no. Raises Unusable for anything but yes and no."""
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
    """Years, None where a cell states none from 0 to `tables.OLDEST`."""
    years = years_of(cell)
    return years if years != 300 else None


def unread_ages(cells: Sequence[str]) -> list[str]:
    """A warning with the number of ages that cannot be read and count as not stated; none where there is none."""
    unread = [cell for cell in cells if cell.lower() not in NOT_STATED and age_of(cell) is None]
    if not unread:
        return []
    ages = "1 age is" if len(unread) == 1 else f"{len(unread)} ages are"
    examples = ", ".join(repr(cell[:SHOWN]) for cell in dict.fromkeys(unread[:EXAMPLES]))
    return [
        f"{ages} no number of years from 0 to {OLDEST} and not used, e.g. {examples}; correct the cells of table.age"
    ]


SEPARATORS = (",", ";", "\t")
SHEETS: dict[str, Callable[[Path], list[list[str]]]] = {
    ".xlsx": read_workbook,
    ".parquet": read_parquet,
}
"""Suffix -> reader of a table that is no text."""


def columns_of(card: Card) -> list[str]:
    """The columns that a card names, that of the recordings (else of the paths) first, each once."""
    table = card.table
    if table is None:
        return []
    named = [table.recording, table.path, table.patient, table.sides and table.sides.column]
    named += [table.report, table.sex, table.age, *(card.labels.columns if card.labels else ())]
    return list(dict.fromkeys(name for name in named if name))


def read_rows(dataset: Dataset, card: Card, table: CardTable) -> Table:
    """The rows under `columns_of`, each recording once. Raises DatasetError for a missing table or column."""
    path = dataset.root / table.file
    if not path.is_file():
        raise DatasetError(f"{card.title}: no {table.file} in {dataset.root}; correct table.file")
    return keyed(read_columns(card, path, columns_of(card)), lambda name: identifier(name) or None)


def read_columns(dataset: About, path: Path, columns: Sequence[str]) -> Table:
    """The named columns of a table. Raises DatasetError for a missing column or an unreadable file."""
    if path.suffix.lower() in SHEETS:
        rows = _sheet(dataset, path)
        _check_columns(dataset, path, columns, rows[0] if rows else [])
        return select(dataset, path, enumerate(rows, start=1), columns)
    header, separator = header_and_separator(dataset, path)
    _check_columns(dataset, path, columns, header)
    return read_table(dataset, path, columns, separator=separator)


def header_of_table(dataset: About, path: Path) -> list[str]:
    """Names of the columns of a table. Raises DatasetError for an unreadable file."""
    if path.suffix.lower() in SHEETS:
        return next(iter(_sheet(dataset, path)), [])
    return header_and_separator(dataset, path)[0]


def header_and_separator(dataset: About, path: Path) -> tuple[list[str], str]:
    """Names of the columns of a text table, and what separates them: what stands most often in the first line."""
    line = header_of(dataset, path)
    separator = max(SEPARATORS, key=line.count)
    header = [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    return header, separator


def _sheet(dataset: About, path: Path) -> list[list[str]]:
    try:
        return SHEETS[path.suffix.lower()](path)
    except ValueError as error:
        raise DatasetError(f"{dataset.title}: {path} cannot be read: {error}") from error


def _check_columns(dataset: About, path: Path, columns: Sequence[str], header: Sequence[str]) -> None:
    """Raise DatasetError for a column that is not there, with the nearest and all that are."""
    lacking = [name for name in columns if name not in header]
    if lacking:
        near = get_close_matches(lacking[0], header, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise DatasetError(
            f"{dataset.title}: {path} has no column {lacking[0]!r}{hint}; there are {', '.join(header)[:500]}"
        )


NO_FILE = "file missing for a row of the table; correct its name or signals.files"
NO_ROW = "file in no row of the table; add its row or narrow signals.files"
ROW = "#"
"""Between the path of a stacked file and the number of a row."""
Where = Callable[[str], Sequence[Found]]
"""Name of a recording, or its path, in the table -> its files."""


class CardDataset:
    """A card and a folder."""

    def __init__(self, card: Card, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title = card.name, card.title
        self.classes, self.first_label_counts = card.classes, card.first_label_counts
        self.how_to_get = card.how_to_get

    @property
    def _reader(self) -> Reader:
        return READERS[self.card.signals.kind]

    def listing(self) -> Listing:
        """A recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, the table lacks what the card names of it, or the
        package that reads the files is not installed.
        """
        versions = self._reader.versions(self.title)
        found = self._found()
        listing = self._of_rows(found, self.card.table) if self.card.table else self._of_files(found)
        return replace(listing, reading=digest([self.card.model_dump(mode="json"), versions]))

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """The files an entry is read from."""
        return self._reader.files(self._file_and_row(entry)[0])

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable, also where the file contradicts the card."""
        signals = self.card.signals
        path, row = self._file_and_row(entry)
        if row is None:
            return recording_of(self._reader.read(path, signals), signals)
        assert self._reader.read_row is not None, "a card is refused that calls other files stacked"
        return recording_of(self._reader.read_row(path, signals, row), signals)

    def _file_and_row(self, entry: Entry) -> tuple[Path, int | None]:
        """The file of an entry, and its row in a stacked one."""
        if not self.card.signals.stacked:
            return self.root / entry.path, None
        path, _, row = entry.path.rpartition(ROW)
        return self.root / path, int(row)

    def _found(self) -> list[Found]:
        """The files, those of a stacked one for each of its rows. Raises DatasetError where one cannot be read."""
        files = files_of(self.card, self.root)
        if not self.card.signals.stacked or self._reader.identifiers is None:
            return files
        if len(files) > 1 and not self.card.signals.ids_name:
            raise DatasetError(
                f"{self.title}: {len(files)} stacked files: say by signals.ids_name which recordings are in their rows"
            )
        rows: list[Found] = []
        for file in files:
            try:
                names = self._reader.identifiers(self.root / file.path, self.card.signals)
            except Unusable as reason:
                raise DatasetError(f"{self.title}: {file.path}: {reason}") from None
            rows += [Found(f"{file.path}{ROW}{row}", name, file.patient) for row, name in enumerate(names)]
        return rows

    def _of_files(self, found: Sequence[Found]) -> Listing:
        """A recording per file; where folders are of patients, its name begins with the patient's."""
        by_name = _by_name([file._replace(recording=f"{file.patient}/{file.recording}".lstrip("/")) for file in found])

        def entry(row: Row) -> Entry:
            file = _only(by_name[row[0]])
            labels = self._labels({}, file)
            return Entry(checked_identifier(row[0]), file.patient or row[0], file.path, labels=labels)

        return listing_of(Table([(name,) for name in sorted(by_name)], []), entry, form=self._form())

    def _of_rows(self, found: Sequence[Found], table: CardTable) -> Listing:
        """Every row of the table; a file of no row is skipped and counted, as a row without a file is."""
        rows, columns = read_rows(self, self.card, table), columns_of(self.card)
        sides, where, used = table.sides, _where(found, table), set[str]()

        def entry(row: Row) -> Entry:
            cells = dict(zip(columns, row, strict=True))
            files = where(path_within(cells[table.path]) if table.path else row[0])
            used.update(file.path for file in files)
            file = _only(files)
            patient = identifier(cells[table.patient]) if table.patient else file.patient or row[0]
            if not patient:
                raise Unusable("no patient; fill in its cell or leave out table.patient")
            return Entry(
                recording=checked_identifier(row[0]),
                patient=checked_identifier(patient),
                path=file.path,
                labels=self._labels(cells, file),
                report=cells[table.report] if table.report else "",
                fold=fold_of(cells[sides.column], sides) if sides else None,
                sex=sex_of(cells[table.sex]) if table.sex else "",
                age=age_of(cells[table.age]) if table.age else None,
            )

        patients, ages = (
            [row[columns.index(name)] for row in rows.rows] if name else [] for name in (table.patient, table.age)
        )
        warnings = [*spelt_apart("patient", patients), *unread_ages(ages)]
        listing = listing_of(rows, entry, form=self._form(), warnings=warnings)
        self._check_sides(listing.entries)
        doubtful = {file.path for name, _ in rows.skipped for file in where(name)}  # of rows that are listed twice
        unlisted = [file for file in found if file.path not in used | doubtful]
        skipped = [(file.recording or file.path, f"{NO_ROW}: {file.path}") for file in unlisted]
        return replace(listing, skipped=(*listing.skipped, *skipped))

    def _labels(self, cells: Mapping[str, str], file: Found) -> tuple[int, ...]:
        """Indices of the classes of a recording, by its row or its header. Raises Unusable."""
        labels = self.card.labels
        if labels is None:
            return ()
        if labels.comment is None:
            return labels_of(cells, labels)
        return classes_of(comments((self.root / file.path).with_suffix(""), labels.comment), labels)

    def _check_sides(self, entries: Sequence[Entry]) -> None:
        """Raise DatasetError where a split of the data's own lacks a side."""
        folds = {entry.fold for entry in entries}
        lacking = [side for side, fold in FOLDS.items() if folds - {None} and fold not in folds]
        if lacking:
            raise DatasetError(
                f"{self.title}: no row is of the side {lacking[0]} of table.split: name its values there (a split has "
                "train, validation and test), or leave table.split out and the suite splits"
            )

    def _form(self) -> str:
        return f"{self.card.signals.kind} files of a card"


class CardSource(Card):
    """A card as the source of a dataset (`base.Source`)."""

    def __call__(self, root: Path) -> Dataset:
        """The dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


def _where(found: Sequence[Found], table: CardTable) -> Where:
    """How a row's files are found: by {recording}; by path, from the table's folder too, with or without suffix."""
    if not table.path:
        by_name = _by_name(found)
        return lambda name: by_name.get(name, ())
    by_path = {
        name: (file,) for file in found for name in (PurePosixPath(file.path).with_suffix("").as_posix(), file.path)
    }
    beside = PurePosixPath(table.file).parent
    return lambda name: by_path.get(PurePosixPath(name).as_posix()) or by_path.get((beside / name).as_posix()) or ()


def _by_name(found: Sequence[Found]) -> dict[str, list[Found]]:
    names: dict[str, list[Found]] = {}
    for file in found:
        names.setdefault(file.recording, []).append(file)
    return names


def _only(files: Sequence[Found]) -> Found:
    if not files:
        raise Unusable(NO_FILE)
    if len(files) > 1:
        raise Unusable(f"several files of one recording; narrow signals.files: {files[0].path} and {files[1].path}")
    return files[0]
