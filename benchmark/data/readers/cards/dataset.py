"""The dataset of a card in a folder: its files matched with the rows of its table, its signals by their format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from benchmark.data.readers.base import Dataset, DatasetError, Entry, Listing, Person, Recording, Unusable
from benchmark.data.readers.cards.card import Card
from benchmark.data.readers.cards.cells import (
    FOLDS,
    age_of,
    checked_identifier,
    classes_of,
    fold_of,
    identifier,
    labels_of,
    sex_of,
)
from benchmark.data.readers.cards.find import Found, files_of
from benchmark.data.readers.cards.forms.formats import READERS
from benchmark.data.readers.cards.forms.stored import recording_of
from benchmark.data.readers.cards.table import columns_of, read_rows
from benchmark.data.readers.files.tables import Row, Table, listing_of, path_within, spelt_apart
from benchmark.data.readers.files.wfdb_record import comments
from benchmark.results.keys import digest

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
        self._reader = READERS[card.signals.kind]

    def listing(self) -> Listing:
        """A recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, the table lacks what the card names of it, or the
        package that reads the files is not installed.
        """
        versions = self._reader.versions(self.title)
        found = self._found()
        listing = self._of_rows(found) if self.card.table else self._of_files(found)
        reading = digest([self.card.model_dump(mode="json"), versions])
        return Listing(listing.entries, listing.skipped, listing.form, (), listing.warnings, reading)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """The files an entry is read from."""
        return self._reader.files(self._file_and_row(entry)[0])

    def people(self) -> dict[str, Person]:
        """None by a table; see the entries."""
        return {}

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
        by_name: dict[str, list[Found]] = {}
        for file in found:
            by_name.setdefault(f"{file.patient}/{file.recording}" if file.patient else file.recording, []).append(file)

        def entry(row: Row) -> Entry:
            file = _only(by_name[row[0]])
            labels = self._labels({}, file)
            return Entry(checked_identifier(row[0]), file.patient or row[0], file.path, labels=labels)

        return listing_of(Table([(name,) for name in sorted(by_name)], []), entry, form=self._form())

    def _of_rows(self, found: Sequence[Found]) -> Listing:
        """Every row of the table; a file of no row is skipped and counted, as a row without a file is."""
        rows, columns = read_rows(self, self.card), columns_of(self.card)
        table = self.card.table
        assert table is not None
        sides, where, used = table.sides, self._where(found), set[str]()

        def entry(row: Row) -> Entry:
            cells = dict(zip(columns, row, strict=True))
            own = where(path_within(cells[table.path]) if table.path else row[0])
            used.update(file.path for file in own)
            file = _only(own)
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

        listing = listing_of(rows, entry, form=self._form())
        self._check_sides(listing.entries)
        doubtful = {file.path for name, _ in rows.skipped for file in where(name)}  # of rows that are listed twice
        unlisted = [file for file in found if file.path not in used | doubtful]
        skipped = [(file.recording or file.path, f"{NO_ROW}: {file.path}") for file in unlisted]
        patients = [row[columns.index(table.patient)] for row in rows.rows] if table.patient else []
        warnings = tuple(spelt_apart("patient", patients))
        return Listing(listing.entries, (*listing.skipped, *skipped), listing.form, (), warnings)

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

    def _where(self, found: Sequence[Found]) -> Where:
        """How a row's files are found: by {recording}; by path, from the table's folder too, with or without suffix."""
        assert self.card.table is not None
        if not self.card.table.path:
            by_name = _by_name(found)
            return lambda name: by_name.get(name, ())
        by_path = {name: (file,) for file in found for name in (_stem(file.path), file.path)}
        beside = PurePosixPath(self.card.table.file).parent
        return lambda name: by_path.get(_plain(name)) or by_path.get((beside / name).as_posix()) or ()

    def _form(self) -> str:
        return f"{self.card.signals.kind} files of a card"


class CardSource(Card):
    """A card as the source of a dataset (`readers.base.Source`)."""

    def __call__(self, root: Path) -> Dataset:
        """The dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


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


def _plain(path: str) -> str:
    """A path without a leading './'."""
    return PurePosixPath(path).as_posix()


def _stem(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()
