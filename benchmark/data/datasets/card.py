"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from benchmark.data.datasets import card_formats
from benchmark.data.datasets.base import DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.card_sections import FOLDS, PATIENT, RECORDING, Labels, Section, Signals, Table, identifier
from benchmark.data.datasets.tables import SHOWN, is_utf8, patient_of, read_table, spelling_warnings
from benchmark.data.datasets.wfdb_files import comments, paths_below, signal_files
from benchmark.results.schema import digest

PACKAGES = {"hdf5": ("h5py",), "export": ("ecgdatakit",)}
"""Format -> packages of the extra `formats` that read it; their versions belong to what is read."""
NO_FILE = "file missing for a row of the table; correct its name or signals.files"
NO_ROW = "file in no row of the table; add its row or narrow signals.files"
ROW = "#"
"""Between the path of a stacked file and the number of a row."""
NO_TABLE = Table(file="none")
Row = dict[str, str]
"""Column -> cell."""
EXPRESSIONS = {
    re.escape(RECORDING): "(?P<recording>[^/]+)",
    re.escape(PATIENT): "(?P<patient>[^/]+)",
    re.escape("**/"): "(?:[^/]+/)*",
    re.escape("*"): "[^/]*",
}
"""Part of a path pattern -> the same in a regular expression."""


class Card(Section):
    """A folder of ECG files, its table and its classes (`base.Source`); `card(root)` opens the folder."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
    title: Annotated[str, Field(min_length=1)]
    how_to_get: str = ""
    licence: str = ""
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
        """Open the dataset in a folder; nothing is read yet."""
        return CardDataset(self, root)


class CardFile(NamedTuple):
    """A file of a card's pattern, or a row of one that holds many recordings."""

    path: str
    """Below the dataset's folder; with '#' and the number of a row."""
    recording: str
    """'' where the pattern has no {recording}."""
    patient: str


class Candidate(NamedTuple):
    """A recording of the table, or of the files without a table, before it is known whether it can be used."""

    name: str
    files: Sequence[CardFile]
    rows: Sequence[Row]
    """Of the table; [{}] without a table."""


def files_of(card: Card, root: Path) -> list[CardFile]:
    """Find the files of a card's pattern, by path. Raises DatasetError where there is none, with what there is."""
    pattern = card.signals.files
    expression = re.escape(pattern)
    for part, meaning in EXPRESSIONS.items():
        expression = expression.replace(part, meaning)
    fixed = re.split(r"[*{]", pattern)[0].rpartition("/")[0]  # folders without any part to be matched
    paths = [(PurePosixPath(fixed) / path).as_posix() for path in paths_below(root / fixed)]
    matches = {path: match for path in paths if (match := re.fullmatch(expression, path))}
    if not matches:
        suffixes = Counter(PurePosixPath(path).suffix.lower() or "no suffix" for path in paths_below(root))
        present = ", ".join(f"{count} {suffix}" for suffix, count in suffixes.most_common(3)) or "nothing"
        example = min(paths_below(root), default="")
        raise DatasetError(
            f"{card.title}: no file in {root} matches signals.files {pattern!r}: there are {present}, e.g. {example!r}"
            "; correct the pattern or give the folder by --data"
        )
    return [
        CardFile(path, match.groupdict().get("recording", ""), match.groupdict().get("patient", ""))
        for path, match in sorted(matches.items())
    ]


class CardDataset:
    """A card and a folder (`base.Dataset`)."""

    drawn_from = ""

    def __init__(self, card: Card, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title = card.name, card.title
        self.classes, self.first_label_counts = card.classes, card.first_label_counts
        self.how_to_get = card.how_to_get

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the files an entry is read from."""
        path, _ = self._file_and_row(entry)
        if self.card.signals.kind != "wfdb":
            return (path,)
        try:
            return (path, *signal_files(path.with_suffix("")))
        except Unusable:  # no header
            return (path,)

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable, also where the file contradicts the card."""
        return card_formats.read(*self._file_and_row(entry), self.card.signals)

    def _file_and_row(self, entry: Entry) -> tuple[Path, int | None]:
        """The file of an entry, and its row in a stacked one."""
        path, _, row = entry.path.rpartition(ROW) if self.card.signals.stacked else (entry.path, "", "")
        return self.root / path, int(row) if row else None

    def listing(self) -> Listing:
        """List a recording per row of the table, without a table one per file.

        Raises DatasetError where no file matches the pattern, the table lacks what the card names of it, or the
        package that reads the files is not installed.
        """
        try:
            versions = {name: version(name) for name in PACKAGES.get(self.card.signals.kind, ())}
        except PackageNotFoundError as missing:
            raise DatasetError(f"{self.title}: these files need {missing.name}: pip install '.[formats]'") from None
        files = self._files()
        if self.card.table:
            listing = self._of_rows(files, self.card.table)
        else:
            by_name = defaultdict[str, list[CardFile]](list)
            for file in files:  # where folders are of patients, a name begins with the patient's
                by_name[f"{file.patient}/{file.recording}".lstrip("/")].append(file)
            listing = self._of([Candidate(name, same_name, [{}]) for name, same_name in sorted(by_name.items())])
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

    def _of_rows(self, files: Sequence[CardFile], table: Table) -> Listing:
        """Every row of the table; a file of no row is skipped and counted, as a row without a file is."""
        columns = columns_of(self.card)
        read = read_table(self, self.root / table.file, columns)
        cells = [dict(zip(columns, row, strict=True)) for row in read.rows]
        warnings = spelling_warnings(row[table.patient] for row in cells) if table.patient else []
        if not is_utf8(self.root / table.file):
            warnings.append(f"{table.file} is not UTF-8 and was read as Latin-1: save it as UTF-8")
        by_name: dict[str, list[CardFile]] = defaultdict(list)
        for file in files:
            path = PurePosixPath(file.path)
            for name in (path.as_posix(), path.with_suffix("").as_posix()) if table.path else (file.recording,):
                by_name[name].append(file)
        groups, skipped = self._grouped(cells, columns[0])
        if several := sum(len(rows) > 1 for rows in groups.values()):
            warnings.append(f"{several} recordings have several rows, whose labels are taken together")
        if self.card.signals.stacked and not self.card.signals.ids_name:
            self._check_positions([*groups], [file.recording for file in files], table)
        candidates = [
            Candidate(name, self._files_of_row(name, rows[0], by_name), rows) for name, rows in groups.items()
        ]
        listing = self._of(candidates, [*read.skipped, *skipped], warnings)
        folds = {entry.fold for entry in listing.entries}
        missing = [part for part, fold in FOLDS.items() if table.split and listing.entries and fold not in folds]
        if missing:
            raise DatasetError(
                f"{self.title}: no row is of the part {missing[0]} of table.split: name its values there (a split has "
                "train, validation and test), or leave table.split out and the suite splits"
            )
        used = {file.path for candidate in candidates for file in candidate.files}
        used |= {file.path for name, _ in skipped for file in by_name.get(name, ())}
        unlisted = [(file.recording or file.path, f"{NO_ROW}: {file.path}") for file in files if file.path not in used]
        return replace(listing, skipped=(*listing.skipped, *unlisted))

    def _grouped(self, cells: Sequence[Row], key: str) -> tuple[dict[str, list[Row]], list[tuple[str, str]]]:
        """Recording -> its rows, which may differ in their labels alone, and the skipped ones with the reasons."""
        labels = self.card.labels
        free = {key, *(labels.columns if labels and labels.column else ())}
        groups, skipped = defaultdict[str, list[Row]](list), list[tuple[str, str]]()
        for row in cells:
            name = identifier(row[key])
            if not name:
                skipped.append((row[key], f"no identifier: {row[key]!r}"))
            elif (named := {**row, key: name}) not in groups[name]:
                groups[name].append(named)
        for name, rows in list(groups.items()):
            if any(row[column] != rows[0][column] for row in rows for column in row.keys() - free):
                skipped.append((name, f"listed twice; keep one row: {len(rows)} rows differ"))
                del groups[name]
        return groups, skipped

    def _files_of_row(self, name: str, row: Row, by_name: Mapping[str, list[CardFile]]) -> list[CardFile]:
        """The files of a row; a path counts from the dataset's folder or from the table's."""
        table = self.card.table or NO_TABLE
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

    def _of(
        self,
        candidates: Sequence[Candidate],
        skipped: Sequence[tuple[str, str]] = (),
        warnings: Sequence[str] = (),
    ) -> Listing:
        """An entry of each candidate; those for which it cannot be made are skipped."""
        entries, unknown, skips = list[Entry](), list[str](), list(skipped)
        column = self.card.table.patient if self.card.table else None
        for candidate in candidates:
            try:
                entries.append(self._entry(candidate))
            except Unusable as reason:
                skips.append((candidate.name, str(reason)))
                continue
            if column and entries[-1].patient == unknown_patient(candidate.name):
                unknown.append(candidate.rows[0][column])
        if unknown:
            examples = ", ".join(map(repr, dict.fromkeys(unknown)))[:SHOWN]
            count = f"{len(unknown)} of {len(entries)} recordings name no patient and count as a person each"
            warnings = [*warnings, f"{count}: {examples} in {column}"]
        form = f"{self.card.signals.kind} files of a card"
        return Listing(tuple(entries), tuple(skips), form, warnings=tuple(warnings))

    def _entry(self, candidate: Candidate) -> Entry:
        """The entry of a candidate. Raises Unusable."""
        table, labels, row = self.card.table or NO_TABLE, self.card.labels, candidate.rows[0]
        if not candidate.files:
            raise Unusable(NO_FILE)
        if len(candidate.files) > 1:
            paths = f"{candidate.files[0].path} and {candidate.files[1].path}"
            raise Unusable(f"several files of one recording; narrow signals.files: {paths}")
        (file,) = candidate.files
        stated = row[table.patient] if table.patient else file.patient
        known = patient_of(stated) if stated else ""
        if labels is None:
            classes: tuple[int, ...] = ()
        elif labels.comment:
            classes = labels.of_texts(comments((self.root / file.path).with_suffix(""), labels.comment))
        elif labels.column:
            classes = labels.of_texts([row[column] for row in candidate.rows for column in labels.columns])
        else:
            classes = labels.of_columns(row)
        return Entry(
            recording=candidate.name,
            patient=known or (unknown_patient(candidate.name) if table.patient or stated else candidate.name),
            path=file.path,
            labels=classes,
            report=row[table.report] if table.report else "",
            fold=table.parts.fold_of(row[table.parts.column]) if table.parts else None,
        )


def columns_of(card: Card) -> list[str]:
    """Return the columns that a card names, that of the recordings (else of the paths) first, each once."""
    table = card.table or NO_TABLE
    named = [table.recording, table.path, table.patient, table.parts and table.parts.column, table.report]
    return list(dict.fromkeys(name for name in (*named, *(card.labels.columns if card.labels else ())) if name))


def unknown_patient(recording: str) -> str:
    """Return the person of a recording whose patient is not known."""
    return f"?{recording}"
