"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is. Its files
are found by the path pattern and matched with the rows of the table; a row without a file and a file of no row are
skipped with the reason. Rows of one recording may differ in their labels, which are taken together.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field, model_validator

from benchmark.data.datasets.base import NO_FOLD, DatasetError, Entry, Listing, NamedTask, Recording, Unusable
from benchmark.data.datasets.card_formats import (
    PACKAGES,
    CardSection,
    CardSignals,
    Word,
    identifiers,
    read_content,
    to_recording,
)
from benchmark.data.datasets.card_labels import CardLabels
from benchmark.data.datasets.folder_walk import FolderWalk, walk_folder
from benchmark.data.datasets.tables import (
    SHOWN,
    Row,
    Skips,
    group_rows,
    make_listing,
    patient_of,
    read_table,
)
from benchmark.data.datasets.wfdb_files import comments, signal_files
from benchmark.results.canonical import (
    decoded,
    identifier,
    other_capitals,
    remarks,
    spellings,
    text,
    whole_number,
)
from benchmark.results.files import digest
from benchmark.results.sheets import is_latin

RECORDING, PATIENT, SITE = "{recording}", "{patient}", "{site}"
"""Parts of a path pattern that stand for identifiers; patients of several sites are several people."""
EXPRESSIONS = {part: f"(?P<{part[1:-1]}>[^/]+)" for part in (RECORDING, PATIENT, SITE)}
AGAIN = {part: f"(?P={part[1:-1]})" for part in EXPRESSIONS}
"""An identifier that stands in a path pattern a second time -> the same in a regular expression: the same text."""
EXPRESSIONS |= {"**/": "(?:[^/]+/)*", "*": "[^/]*"}
"""Part of a path pattern -> the same in a regular expression."""
SITE_COLUMN = re.compile(
    r".*(hospital|site|cent(er|re)|clinic|institut|klini[ck]|krankenhaus|facility|cohort|h[oô]pital|ospedale|ziekenhuis"
    r"|einrichtung|database|dataset).*|(data_?)?source",
    re.IGNORECASE,
)
"""Names of columns that say where a patient was."""
RATE_COLUMN = re.compile(r"(fs|sampl(e|ing)[ _]?(rate|freq(uency)?))([ _]?[(\[]?hz[)\]]?)?", re.IGNORECASE)
"""Names of columns that say a recording's rate."""
NOT_NAMED = re.compile(f"{SITE_COLUMN.pattern}|{RATE_COLUMN.pattern}", re.IGNORECASE)
"""Names of columns that are read though the card does not name them."""
COUNTED_DIGITS = 5
"""Patients' numbers of up to so many digits may be counted from 1 by each site."""
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
    patient: Word | list[Word] | None = None
    split: Word | CardSplit | None = None
    report: Word | None = None

    @property
    def parts(self) -> CardSplit | None:
        """The split, with the values of its parts."""
        return CardSplit(column=self.split) if isinstance(self.split, str) else self.split


class Card(CardSection):
    """A folder of ECG files, its table and its classes (`base.DatasetKind`)."""

    cite: ClassVar[str] = ""
    tasks: ClassVar[Mapping[str, NamedTask]] = {}
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
        if PATIENT not in self.signals.files and (SITE in self.signals.files or PATIENT in self.patients):
            raise ValueError(f"signals.files: it needs {PATIENT}, which {SITE} and table.patient are joined with")
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
    def patients(self) -> list[str]:
        """Columns of the table that together name a patient, or `PATIENT`; empty where nothing does."""
        if self.table and self.table.patient:
            return [self.table.patient] if isinstance(self.table.patient, str) else self.table.patient
        return [PATIENT] if PATIENT in self.signals.files else []

    def __call__(self, root: Path) -> CardDataset:
        """Open the dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


class CardFile(NamedTuple):
    """A file of a card's pattern, or a row of one that holds many recordings."""

    path: str
    """Below the dataset's folder; with '#' and the number of a row."""
    recording: str
    """Text for {recording}, else the file's name without suffix."""
    patient: str = ""
    """Text for {patient}, with {site} and '/' ahead."""

    @property
    def name(self) -> str:
        """The recording's name where no table names it, with the patient's folder ahead."""
        return f"{self.patient}/{self.recording}".lstrip("/")


class Matched(NamedTuple):
    """The rows of a recording, a blank one without a table, and the files that they name."""

    rows: list[Row]
    files: list[CardFile]


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
    files = list[CardFile]()
    expression = re.compile(expression_of(text(card.signals.files)))
    for path in walk.paths:
        name = text(path)
        if match := expression.fullmatch(name):
            parts = {"recording": os.path.splitext(os.path.basename(name))[0], **match.groupdict()}
            if site := parts.pop("site", ""):
                parts["patient"] = f"{site}/{parts['patient']}"
            file = CardFile(path, **parts)
            files += rows_of(card, walk.root, file) if card.signals.stacked else [file]
    if not files:
        raise DatasetError(
            f"{card.title}: no file in {walk.root} matches signals.files {card.signals.files!r}: there are "
            f"{len(walk.paths)} files, e.g. {', '.join(walk.paths[:3])}; correct the pattern or give the "
            f"folder by --data{walk.remark}"
        )
    return files


def rows_of(card: Card, root: Path, file: CardFile) -> list[CardFile]:
    """List the recordings of a stacked file below a folder. Raises DatasetError where it cannot be read."""
    try:
        names = identifiers(root / file.path, card.signals)
    except Unusable as reason:
        raise DatasetError(f"{card.title}: {file.path}: {reason}") from None
    return [file._replace(path=f"{file.path}{ROW}{row}", recording=name) for row, name in enumerate(names)]


class CardDataset:
    """A card and a folder (`base.Dataset`)."""

    drawn_from = ""

    def __init__(self, card: Card, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title, self.how_to_get = card.name, card.title, card.how_to_get
        self.classes, self.first_label_counts = card.classes, card.first_label_counts

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the files an entry is read from."""
        path = self.root / self._file_and_row(entry.path)[0]
        return (path, *signal_files(path.with_suffix(""))) if self.card.signals.kind == "wfdb" else (path,)

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable, also where the file contradicts the card."""
        path, row = self._file_and_row(entry.path)
        content = read_content(self.root / path, row, self.card.signals)
        content = content._replace(rates={**content.rates, "the table": entry.fs})
        return to_recording(content, self.card.signals)

    def _file_and_row(self, path: str) -> tuple[str, int | None]:
        """Return the file of an entry's path, and its row in a stacked one."""
        file, _, row = path.rpartition(ROW) if self.card.signals.stacked else (path, "", "")
        return file, int(row) if row else None

    def listing(self) -> Listing:
        """List a recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, or the table lacks what the card names of it.
        """
        walk = walk_folder(self.root)
        table = self.card.table
        files = find_files(self.card, walk)
        files_of = files_by_name(files)
        texts = list[str]()
        rows, skipped = self._rows(table, files) if table else ({file.name: [Row()] for file in files}, Skips())
        matched = dict[str, Matched]()
        for name, same in rows.items():
            cell = same[0][table.path] if table and table.path else name
            matched[name] = Matched(same, match_file(cell, files_of))
        listing = make_listing(
            matched,
            lambda name, match: self._entry(name, match, texts),
            f"{self.card.signals.kind} files of a card",
            skipped,
        )
        of_rows = {file.path for match in matched.values() for file in match.files}
        of_rows |= {file.path for name, _ in skipped for file in files_of.get(name, [])}
        unlisted = [(file.recording, f"{NO_ROW}: {file.path}") for file in files if file.path not in of_rows]
        signals = {self._file_and_row(file.path)[0] for file in files}
        readers = {name: version(name) for name in PACKAGES[self.card.signals.kind] if find_spec(name)}
        rates = list(filter(None, [entry.fs for entry in listing.entries]))
        return replace(
            listing,
            skipped=(*listing.skipped, *unlisted),
            warnings=(*walk.warnings, *self._warnings(listing.entries, matched, texts)),
            notes=(*self._sites(listing.entries, matched), *walk.unread(signals, [table.file] if table else [])),
            reading=digest([self.card.model_dump(mode="json"), readers, *rates]),
        )

    def _rows(self, table: CardTable, files: Sequence[CardFile]) -> tuple[dict[str, list[Row]], Skips]:
        """Group the rows by recording, which may differ in labels alone, and list the skipped. Raises DatasetError."""
        labels = self.card.labels
        patients = [name for name in self.card.patients if name != PATIENT]
        named = [table.recording, table.path, *patients, table.parts.column if table.parts else "", table.report]
        columns = [*dict.fromkeys(filter(None, [*named, *(labels.columns if labels else [])]))]
        cells = read_table(self, self.root / table.file, columns, NOT_NAMED)
        free = {*cells.columns} - {*columns} | {columns[0], *(labels.columns if labels and labels.column else ())}
        rows, skipped = group_rows(cells, columns[0], identifier, free)
        is_by_number = self.card.signals.stacked and not self.card.signals.ids_name
        if is_by_number and {*rows} != {file.recording for file in files}:
            raise DatasetError(
                f"{self.title}: the rows of {self.card.signals.files} count from 0 in each file, {len(files)} in all, "
                f"and {table.file} has {len(rows)} recordings, {next(iter(rows), '')!r} first, in {table.recording}: "
                "number them as the rows, or name the array of their identifiers by signals.ids_name"
            )
        return rows, skipped

    def _entry(self, name: str, match: Matched, texts: list[str]) -> Entry:
        """Make the entry of a recording; the texts of its labels are added to `texts`. Raises Unusable."""
        table = self.card.table or CardTable(file="")
        labels = self.card.labels
        row = match.rows[0]
        if len(match.files) != 1:
            several = ", ".join(file.path for file in match.files)[:200]
            raise Unusable(f"several files of one recording; narrow signals.files: {several}" if several else NO_FILE)
        people = [patient_of(part) for part in self._stated_patient(match)]
        stated = labels.texts(match.rows) if labels else []
        path = match.files[0].path
        if labels and labels.comment:
            stated = [*comments((self.root / path).with_suffix(""), labels.comment)]
        texts += stated
        indices = labels.indices(stated) if labels else ()
        rates = [whole_number(row[column]) for column in row if RATE_COLUMN.fullmatch(column)]
        return Entry(
            recording=name,
            patient=name if not people else "/".join(people) if all(people) else nobody(name),
            path=path,
            labels=indices,
            report=decoded(row[table.report]) if table.report else "",
            fold=table.parts.fold_of(row[table.parts.column]) if table.parts else NO_FOLD,
            is_negative=bool(labels and labels.has_a_column_a_class and not indices),
            fs=float(next(filter(None, rates), 0)),
        )

    def _stated_patient(self, match: Matched) -> list[str]:
        """Return the parts of a patient's identifier, as the row and the path of a recording state them."""
        parts = list[str]()
        for name in self.card.patients:
            parts += match.files[0].patient.split("/") if name == PATIENT else [match.rows[0][name]]
        return parts

    def _sites(self, entries: Sequence[Entry], matched: Mapping[str, Matched]) -> Iterator[str]:
        """Yield, in a line or none, which patients' numbers several sites may have counted."""
        patients = self.card.patients
        pairs = list[tuple[str, str]]()
        for entry in entries if patients else ():
            if entry.patient.isdecimal() and len(entry.patient) <= COUNTED_DIGITS:
                (row, *_), (file,) = matched[entry.recording]
                site = " ".join(row[name] for name in row if SITE_COLUMN.fullmatch(name) and name not in patients)
                folder = file.path.partition(file.patient or os.path.basename(file.path))[0]
                pairs.append((entry.patient, site or folder))
        several = spellings(pairs)
        if several and 2 * len({site for _, site in pairs}) <= len(pairs):  # else each recording has its folder
            number, (first, second, *_) = next(iter(several.items()))
            yield (
                f"{len(several)} patients' numbers stand in several folders or hospitals, e.g. {number} in {first!r} "
                f"and {second!r}: where these are other people, write table.patient: [COLUMN_OF_SITES, "
                f"COLUMN_OF_PATIENTS], {SITE}/{PATIENT} in signals.files, or there {PATIENT} for the folder and "
                f"table.patient: ['{PATIENT}', COLUMN_OF_PATIENTS]"
            )

    def _warnings(
        self, entries: Sequence[Entry], matched: Mapping[str, Matched], texts: Sequence[str]
    ) -> Iterator[str]:
        """Yield what was made canonical, and what was odd in the table and could be read in one way only."""
        table, labels = self.card.table, self.card.labels
        if columns := ", ".join(self.card.patients):
            pairs = [(entry.patient, "/".join(self._stated_patient(matched[entry.recording]))) for entry in entries]
            yield from remarks("patients", pairs)
            yield from other_capitals("patients", [entry.patient for entry in entries])
        if labels:
            yield from labels.remarks(texts)
            blanks = Counter(word for entry in entries for word in labels.blanks(matched[entry.recording].rows[0]))
            for word, count in blanks.items():
                cells = f"{count} of {len(entries)} cells of the class {word} are blank"
                yield f"{cells} and count as no; labels.blank: skip leaves these recordings out"
        if table and is_latin(self.root / table.file):
            yield f"{table.file} is not UTF-8 and was read as Latin-1: save it as UTF-8"
        folds = {entry.fold for entry in entries}
        empty = [part for part, fold in FOLDS.items() if fold not in folds]
        if table and table.parts and labels and empty:
            yield f"the column {table.parts.column} (`table.split`) has no recording for {', '.join(empty)}"
        if several := sum(len(match.rows) > 1 for match in matched.values()):
            yield f"{several} recordings have several rows, whose labels are taken together"
        if unknown := sum(entry.patient == nobody(entry.recording) for entry in entries):
            yield (
                f"{unknown} of {len(entries)} recordings name no patient in the column {columns} and count as a person "
                "each"
            )


def files_by_name(files: Iterable[CardFile]) -> dict[str, list[CardFile]]:
    """Group files by what a row may call them: their recording, or any end of their path, with and without suffix.

    A whole number also goes by its value: spreadsheets drop leading zeros.
    """
    files_of = defaultdict[str, list[CardFile]](list)
    for file in files:
        path = text(file.path)
        ends = [path.split("/", count)[-1] for count in range(path.count("/") + 1)]
        names = [file.name, file.recording, *ends, *(os.path.splitext(end)[0] for end in ends)]
        for name in {*names, whole_number(file.recording) or file.name}:
            files_of[name].append(file)
    return files_of


def match_file(cell: str, files_of: Mapping[str, list[CardFile]]) -> list[CardFile]:
    """Return the files that a cell names, also by a record's signal file; of several, that whose whole path it is."""
    path = os.path.normpath(text(cell).replace("\\", "/"))
    files = files_of.get(path) or files_of.get(re.sub(r"(?i)\.(dat|mat)$", "", path), [])
    return [file for file in files if path in (text(file.path), os.path.splitext(text(file.path))[0])] or files


def nobody(recording: str) -> str:
    """Return the person of a recording whose patient is not known."""
    return f"?{recording}"
