"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from benchmark.data.datasets import card_formats
from benchmark.data.datasets.base import DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.card_sections import (
    FOLDS,
    PATIENT,
    RECORDING,
    Labels,
    Line,
    Section,
    Signals,
    Table,
    identifier,
)
from benchmark.data.datasets.tables import (
    NOT_STATED,
    OLDEST,
    SHOWN,
    is_utf8,
    patient_of,
    read_table,
    spelt_apart,
    years_of,
)
from benchmark.data.datasets.wfdb_files import comments, signal_files
from benchmark.results.schema import digest

PACKAGES = {"hdf5": ("h5py",), "export": ("ecgdatakit",)}
"""Format -> packages of the extra `formats` that read it; their versions belong to what is read."""
LONGEST_ID = 250
"""Characters of an identifier."""
SHOWN_SEX = 20
"""Characters of a cell of the sex that are stored."""
EXAMPLES = 3
NO_FILE = "file missing for a row of the table; correct its name or signals.files"
NO_ROW = "file in no row of the table; add its row or narrow signals.files"
ROW = "#"
"""Between the path of a stacked file and the number of a row."""
NO_TABLE = Table(file="none")
Row = dict[str, str]
"""Column -> cell."""
Skip = tuple[str, str]
"""A recording, and why it is skipped."""
EXPRESSIONS = {
    re.escape(RECORDING): "(?P<recording>[^/]+)",
    re.escape(PATIENT): "(?P<patient>[^/]+)",
    re.escape("**/"): "(?:[^/]+/)*",
    re.escape("*"): "[^/]*",
}
"""Part of a path pattern -> the same in a regular expression."""


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", text):
        raise ValueError("a name has up to 60 small letters, digits, _ and -, and begins with a letter or digit")
    return text


class Card(Section):
    """A folder of ECG files, its table and its classes (`base.Source`); `card(root)` opens the folder."""

    name: Annotated[str, AfterValidator(_name)]
    title: Annotated[Line, Field(min_length=1)]
    how_to_get: Line = ""
    licence: Line = ""
    signals: Signals
    table: Table | None = None
    labels: Labels | None = None

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, values: Any) -> Any:
        return {"title": values["name"], **values} if isinstance(values, dict) and "name" in values else values

    @model_validator(mode="after")
    def _consistent(self) -> Card:
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

    def __call__(self, root: Path) -> CardDataset:
        """The dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


class CardFile(NamedTuple):
    """A file of a card's pattern, or a row of one that holds many recordings."""

    path: str
    """Below the dataset's folder; with '#' and the number of a row."""
    recording: str
    """'' where the pattern has no {recording}."""
    patient: str


def paths_below(root: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder, sorted within each folder; links to folders are followed.

    Names that begin with a dot, or with '~$' as Excel's marks of open files, are no data.
    """
    folders, seen = [root], set[Path]()
    while folders:
        folder = folders.pop()
        if folder.resolve() in seen:  # a link to a folder above
            continue
        seen.add(folder.resolve())
        with os.scandir(folder) as scanned:
            inside = sorted((own for own in scanned if not own.name.startswith((".", "~$"))), key=lambda own: own.name)
        folders += [Path(own.path) for own in reversed(inside) if own.is_dir()]
        yield from (Path(own.path).relative_to(root).as_posix() for own in inside if own.is_file())


def files_of(card: Card, root: Path) -> list[CardFile]:
    """The files of a card's pattern, by path. Raises DatasetError where there is none, with what there is."""
    pattern = card.signals.files
    expression = re.escape(pattern)
    for part, meaning in EXPRESSIONS.items():
        expression = expression.replace(part, meaning)
    fixed = re.split(r"[*{]", pattern)[0].rpartition("/")[0]  # folders without any part to be matched
    prefix = f"{fixed}/" if fixed else ""
    paths = [f"{prefix}{path}" for path in paths_below(root / fixed)] if (root / fixed).is_dir() else []
    matches = {path: match for path in paths if (match := re.fullmatch(expression, path))}
    if not matches:
        raise DatasetError(f"{card.title}: no file in {root} matches signals.files {pattern!r}{_describe(root)}")
    return [
        CardFile(path, match.groupdict().get("recording", ""), match.groupdict().get("patient", ""))
        for path, match in sorted(matches.items())
    ]


def _describe(root: Path) -> str:
    """': there are 400 .hea (e.g. waves/a.hea)': the most frequent suffixes of a folder."""
    names: dict[str, list[str]] = defaultdict(list)
    for path in paths_below(root):
        names[PurePosixPath(path).suffix.lower()].append(path)
    most = sorted(names, key=lambda suffix: -len(names[suffix]))[:EXAMPLES]
    examples = [f"{len(names[suffix])} {suffix or 'without suffix'} (e.g. {min(names[suffix])})" for suffix in most]
    there = f"there are {', '.join(examples)}; correct the pattern or give the folder by --data"
    return f": {there}" if names else ": it is empty"


def checked_identifier(text: str) -> str:
    """An identifier as it is. Raises Unusable for one that no results file can hold."""
    if len(text) > LONGEST_ID or not text.isprintable():
        raise Unusable(f"identifier not printable or longer than {LONGEST_ID} characters: {text[:SHOWN]!r}")
    return text


def age_of(cell: str) -> float | None:
    """Years, None where a cell states none from 0 to `tables.OLDEST`."""
    years = years_of(cell)
    return years if years != 300 else None


class CardDataset:
    """A card and a folder (`base.Dataset`)."""

    drawn_from = ""

    def __init__(self, card: Card, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title = card.name, card.title
        self.classes, self.first_label_counts = card.classes, card.first_label_counts
        self.how_to_get = card.how_to_get

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """The files an entry is read from."""
        path, _ = self._file_and_row(entry)
        if self.card.signals.kind != "wfdb":
            return (path,)
        try:
            return (path, *signal_files(path.with_suffix("")))
        except Unusable:  # no header, or no text
            return (path,)

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable, also where the file contradicts the card."""
        return card_formats.read(*self._file_and_row(entry), self.card.signals)

    def _file_and_row(self, entry: Entry) -> tuple[Path, int | None]:
        """The file of an entry, and its row in a stacked one."""
        path, _, row = entry.path.rpartition(ROW) if self.card.signals.stacked else (entry.path, "", "")
        return self.root / path, int(row) if row else None

    def listing(self) -> Listing:
        """A recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, the table lacks what the card names of it, or the
        package that reads the files is not installed.
        """
        try:
            versions = {name: version(name) for name in PACKAGES.get(self.card.signals.kind, ())}
        except PackageNotFoundError as missing:
            raise DatasetError(f"{self.title}: these files need {missing.name}: pip install '.[formats]'") from None
        files = self._files()
        listing = self._of_rows(files, self.card.table) if self.card.table else self._of_files(files)
        return replace(listing, reading=digest([self.card.model_dump(mode="json"), versions]))

    def _files(self) -> list[CardFile]:
        """The files, those of a stacked one for each of its rows. Raises DatasetError where one cannot be read."""
        files, signals = files_of(self.card, self.root), self.card.signals
        if not signals.stacked:
            return files
        if len(files) > 1 and not signals.ids_name:
            raise DatasetError(
                f"{self.title}: {len(files)} stacked files: say by signals.ids_name which recordings are in their rows"
            )
        rows: list[CardFile] = []
        for file in files:
            try:
                names = map(identifier, card_formats.identifiers(self.root / file.path, signals))
            except Unusable as reason:
                raise DatasetError(f"{self.title}: {file.path}: {reason}") from None
            rows += [CardFile(f"{file.path}{ROW}{row}", name, file.patient) for row, name in enumerate(names)]
        return rows

    def _of_files(self, files: Sequence[CardFile]) -> Listing:
        """A recording per file; where folders are of patients, its name begins with the patient's."""
        by_name = defaultdict[str, list[CardFile]](list)
        for file in files:
            by_name[f"{file.patient}/{file.recording}".lstrip("/")].append(file)
        return self._listing([(name, found, [{}]) for name, found in sorted(by_name.items())], [], [])

    def _of_rows(self, files: Sequence[CardFile], table: Table) -> Listing:
        """Every row of the table; a file of no row is skipped and counted, as a row without a file is."""
        if not (self.root / table.file).is_file():
            raise DatasetError(f"{self.title}: no {table.file} in {self.root}; correct table.file")
        columns = columns_of(self.card)
        read = read_table(self, self.root / table.file, columns)
        cells = [dict(zip(columns, row, strict=True)) for row in read.rows]
        warnings = spelt_apart("patient", [own[table.patient] for own in cells]) if table.patient else []
        warnings += unread_ages([own[table.age] for own in cells]) if table.age else []
        if not is_utf8(self.root / table.file):
            warnings.append(f"{table.file} is not UTF-8 and was read as Latin-1: save it as UTF-8")
        by_name: dict[str, list[CardFile]] = defaultdict(list)
        for file in files:
            for name in names_of(file) if table.path else [file.recording]:
                by_name[name].append(file)
        rows, skipped, several = self._grouped(cells, columns[0])
        if several:
            warnings.append(f"{several} recordings have several rows, whose labels are taken together")
        if self.card.signals.stacked and not self.card.signals.ids_name:
            self._check_positions([name for name, _ in rows], [file.recording for file in files], table)
        found = [(name, self._candidates(name, own[0], by_name, table), own) for name, own in rows]
        of_doubt = {file.path for name, _ in skipped for file in by_name.get(name, ())}
        used = of_doubt | {file.path for _, candidates, _ in found for file in candidates}
        listing = self._listing(found, [*read.skipped, *skipped], warnings)
        unlisted = [(file.recording or file.path, f"{NO_ROW}: {file.path}") for file in files if file.path not in used]
        folds = {entry.fold for entry in listing.entries}
        missing = [part for part, fold in FOLDS.items() if table.split and listing.entries and fold not in folds]
        if missing:
            raise DatasetError(
                f"{self.title}: no row is of the part {missing[0]} of table.split: name its values there (a split has "
                "train, validation and test), or leave table.split out and the suite splits"
            )
        return replace(listing, skipped=(*listing.skipped, *unlisted))

    def _grouped(self, cells: Sequence[Row], key: str) -> tuple[list[tuple[str, list[Row]]], list[Skip], int]:
        """(recording, its rows) of a table, the skipped ones, and how many have several rows with a label each."""
        labels = self.card.labels
        free = set(labels.columns) if labels and labels.column else set[str]()
        groups, skipped, several = defaultdict[str, list[Row]](list), list[Skip](), 0
        for own in cells:
            name = identifier(own[key])
            if not name:
                skipped.append((own[key], f"no identifier: {own[key]!r}"))
            elif (row := {**own, key: name}) not in groups[name]:
                groups[name].append(row)
        rows = []
        for name, group in groups.items():
            if any(own[column] != group[0][column] for own in group for column in own.keys() - free - {key}):
                skipped.append((name, f"listed twice; keep one row: {len(group)} rows differ"))
            else:
                rows.append((name, group))
                several += len(group) > 1
        return rows, skipped, several

    def _candidates(self, name: str, row: Row, by_name: Mapping[str, list[CardFile]], table: Table) -> list[CardFile]:
        """The files of a row; a path counts from the dataset's folder or from the table's."""
        if not table.path:
            return by_name.get(name, [])
        path = PurePosixPath(row[table.path].replace("\\", "/"))
        return by_name.get(path.as_posix()) or by_name.get((PurePosixPath(table.file).parent / path).as_posix()) or []

    def _check_positions(self, names: Sequence[str], positions: Sequence[str], table: Table) -> None:
        """Raise DatasetError where the table's identifiers are not the numbers of a file's rows, which name nothing."""
        if set(names) != set(positions):
            first, last = (choose(names, key=lambda name: (len(name), name)) for choose in (min, max))
            raise DatasetError(
                f"{self.title}: the rows of {self.card.signals.files} count from 0 to {len(positions) - 1}, and "
                f"{table.file} has {len(set(names))} recordings, {first!r} to {last!r}, in {table.recording}: number "
                "them as the rows, or name the array of their identifiers by signals.ids_name"
            )

    def _listing(
        self, found: Sequence[tuple[str, list[CardFile], list[Row]]], skipped: list[Skip], warnings: list[str]
    ) -> Listing:
        """An entry of each (recording, files, rows of the table); those for which it cannot be made are skipped."""
        entries, nobody, skips = list[Entry](), list[str](), list(skipped)
        column = self.card.table.patient if self.card.table else None
        for name, files, rows in found:
            try:
                entry = self._entry(name, files, rows)
            except Unusable as reason:
                skips.append((name, str(reason)))
                continue
            entries.append(entry)
            nobody += [rows[0][column]] if column and entry.patient == unknown_patient(name) else []
        if nobody:
            examples = ", ".join(repr(cell) for cell in dict.fromkeys(nobody))
            warnings = [
                *warnings,
                f"{len(nobody)} of {len(entries)} recordings name no patient and count as a person each: "
                f"{examples[:SHOWN]} in {column}",
            ]
        return Listing(
            tuple(entries), tuple(skips), f"{self.card.signals.kind} files of a card", warnings=tuple(warnings)
        )

    def _entry(self, name: str, files: Sequence[CardFile], rows: Sequence[Row]) -> Entry:
        """The recording of the rows of a table. Raises Unusable."""
        table, labels, row = self.card.table or NO_TABLE, self.card.labels, rows[0]
        if not files:
            raise Unusable(NO_FILE)
        if len(files) > 1:
            raise Unusable(f"several files of one recording; narrow signals.files: {files[0].path} and {files[1].path}")
        (file,) = files
        stated = row[table.patient] if table.patient else file.patient
        patient = patient_of(stated) or unknown_patient(name) if table.patient or stated else name
        if labels is None:
            classes: tuple[int, ...] = ()
        elif labels.comment:
            classes = labels.of_texts(comments((self.root / file.path).with_suffix(""), labels.comment))
        elif labels.column:
            classes = labels.of_texts([own[column] for own in rows for column in labels.columns])
        else:
            classes = labels.of_columns(row)
        return Entry(
            recording=checked_identifier(name),
            patient=checked_identifier(patient),
            path=file.path,
            labels=classes,
            report=row[table.report] if table.report else "",
            fold=table.parts.fold_of(row[table.parts.column]) if table.parts else None,
            sex=row[table.sex][:SHOWN_SEX] if table.sex else "",
            age=age_of(row[table.age]) if table.age else None,
        )


def columns_of(card: Card) -> list[str]:
    """The columns that a card names, that of the recordings (else of the paths) first, each once."""
    table = card.table or NO_TABLE
    named = [table.recording, table.path, table.patient, table.parts and table.parts.column]
    named += [table.report, table.sex, table.age, *(card.labels.columns if card.labels else ())]
    return list(dict.fromkeys(name for name in named if name))


def names_of(file: CardFile) -> list[str]:
    """What a table may call a file: its path, with or without suffix."""
    return [file.path, PurePosixPath(file.path).with_suffix("").as_posix()]


def unknown_patient(recording: str) -> str:
    """The person of a recording whose patient is not known."""
    return f"?{recording}"


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
