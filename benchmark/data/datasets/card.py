"""A card of a folder of ECG files with, if there is one, a table of their patients and labels (docs/OWN_DATA.md).

A config holds the content of its cards, so a card says what the files mean and never where their folder is. Its files
are found by the path pattern and matched with the rows of the table; a row without a file and a file of no row are
skipped with the reason. Rows of one recording may differ in their labels, which are taken together.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.card_formats import identifiers, read_content, to_recording
from benchmark.data.datasets.card_sections import (
    FOLDS,
    PATIENT,
    RECORDING,
    CardLabels,
    CardSection,
    CardSignals,
    CardTable,
)
from benchmark.data.datasets.tables import (
    SHOWN,
    Row,
    Skips,
    group_rows,
    identifier,
    is_utf8,
    make_entries,
    patient_of,
    read_table,
)
from benchmark.data.datasets.wfdb_files import comments, paths_below, signal_files
from benchmark.results.schema import digest

NO_FILE = "file missing for a row of the table; correct its name or signals.files"
NO_ROW = "file in no row of the table; add its row or narrow signals.files"
ROW = "#"
"""Between the path of a stacked file and the number of a row."""
NO_TABLE = CardTable(file="none")
EXPRESSIONS = {
    re.escape(RECORDING): "(?P<recording>[^/]+)",
    re.escape(PATIENT): "(?P<patient>[^/]+)",
    re.escape("**/"): "(?:[^/]+/)*",
    re.escape("*"): "[^/]*",
}
"""Part of a path pattern -> the same in a regular expression."""


class Card(CardSection):
    """A folder of ECG files, its table and its classes (`base.DatasetKind`)."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,59}$")]
    title: Annotated[str, Field(min_length=1)]
    how_to_get: str = ""
    licence: str = ""
    signals: CardSignals
    table: CardTable | None = None
    labels: CardLabels | None = None

    @model_validator(mode="before")
    @classmethod
    def _titled(cls, values: Any) -> Any:
        return {"title": values["name"], **values} if isinstance(values, dict) and "name" in values else values

    @model_validator(mode="after")
    def _consistent(self) -> Card:
        comment = self.labels and self.labels.comment
        if comment and self.signals.kind != "wfdb":
            raise ValueError("labels.comment: of WFDB headers alone; give a table and labels.column")
        if self.labels and not comment and not self.table:
            raise ValueError("labels: they stand in a table, and the card has none: give table.file or labels.comment")
        if self.table and not (self.table.recording or self.table.path):
            raise ValueError(f"table: it needs `recording`, the column with what {RECORDING} is, or `path`")
        return self

    @property
    def cite(self) -> str:
        """'': a card states no citation."""
        return ""

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


def fixed_folder(pattern: str) -> str:
    """Return the folders of a path pattern that come before any part to be matched."""
    return re.split(r"[*{]", pattern)[0].rpartition("/")[0]


def find_files(card: Card, root: Path) -> list[CardFile]:
    """Find the files of a card's pattern, by path. Raises DatasetError where there is none, with what there is."""
    pattern = card.signals.files
    expression = re.escape(pattern)
    for part, meaning in EXPRESSIONS.items():
        expression = expression.replace(part, meaning)
    fixed = fixed_folder(pattern)
    paths = [(PurePosixPath(fixed) / path).as_posix() for path in paths_below(root / fixed)]
    matches = {path: match.groupdict() for path in sorted(paths) if (match := re.fullmatch(expression, path))}
    if not matches:
        present = paths_below(root)
        suffixes = Counter(PurePosixPath(path).suffix.lower() or "no suffix" for path in present)
        counts = ", ".join(f"{count} {suffix}" for suffix, count in suffixes.most_common(3)) or "nothing"
        raise DatasetError(
            f"{card.title}: no file in {root} matches signals.files {pattern!r}: there are {counts}, e.g. "
            f"{min(present, default='')!r}; correct the pattern or give the folder by --data"
        )
    stem = {path: PurePosixPath(path).stem for path in matches}
    return [CardFile(path, of.get("recording", stem[path]), of.get("patient", "")) for path, of in matches.items()]


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
        files, files_of, table = self._files(), defaultdict[str, list[CardFile]](list), self.card.table
        for file in files:
            for key in self._keys(file):
                files_of[key].append(file)
        rows, skipped = self._rows(table) if table else ({name: [Row()] for name in sorted(files_of)}, Skips())
        if table and self.card.signals.stacked and not self.card.signals.ids_name:
            self._check_positions([*rows], [file.recording for file in files], table)
        matched = {name: self._match(name, same[0], files_of) for name, same in rows.items()}
        entries, unusable = make_entries(rows, lambda name, same: self._entry(name, same, matched[name]))
        used = {file.path for some in matched.values() for file in some}
        used |= {file.path for name, _ in skipped for file in files_of.get(name, ())}
        unlisted = [(file.recording, f"{NO_ROW}: {file.path}") for file in files if file.path not in used]
        return Listing(
            entries=tuple(entries),
            skipped=(*skipped, *unusable, *unlisted),
            form=f"{self.card.signals.kind} files of a card",
            warnings=tuple(self._warnings(entries, rows, table) if table else ()),
            reading=digest(self.card.model_dump(mode="json")),
        )

    def _files(self) -> list[CardFile]:
        """The files, those of a stacked one for each of its rows. Raises DatasetError where one cannot be read."""
        files, signals = find_files(self.card, self.root), self.card.signals
        if not signals.stacked:
            return files
        rows: list[CardFile] = []
        for file in files:
            try:
                names = map(identifier, identifiers(self.root / file.path, signals))
            except Unusable as reason:
                raise DatasetError(f"{self.title}: {file.path}: {reason}") from None
            rows += [CardFile(f"{file.path}{ROW}{row}", name, file.patient) for row, name in enumerate(names)]
        return rows

    def _keys(self, file: CardFile) -> tuple[str, ...]:
        """What rows name a file by; without a table its recording, with the patient's folder ahead."""
        path = PurePosixPath(file.path)
        if self.card.table is None:
            return (f"{file.patient}/{file.recording}".lstrip("/"),)
        return (file.path, path.with_suffix("").as_posix()) if self.card.table.path else (file.recording, path.name)

    def _rows(self, table: CardTable) -> tuple[dict[str, list[Row]], Skips]:
        """Recording -> its rows, which may differ in their labels alone, and the skipped ones."""
        labels = self.card.labels
        named = [table.recording, table.path, table.patient, table.parts and table.parts.column, table.report]
        columns = list(dict.fromkeys(name for name in (*named, *(labels.columns if labels else ())) if name))
        free = {columns[0], *(labels.columns if labels and labels.column else ())}
        return group_rows(read_table(self, self.root / table.file, columns), columns[0], identifier, free)

    def _match(self, name: str, row: Row, files_of: Mapping[str, list[CardFile]]) -> list[CardFile]:
        """The files of a row; a path counts from the dataset's folder, the table's or that of the pattern."""
        table = self.card.table or NO_TABLE
        if not table.path:
            return files_of.get(name, [])
        path = row[table.path].replace("\\", "/")
        folders = map(PurePosixPath, ("", os.path.dirname(table.file), fixed_folder(self.card.signals.files)))
        return next((files for folder in folders if (files := files_of.get((folder / path).as_posix()))), [])

    def _check_positions(self, names: Sequence[str], positions: Sequence[str], table: CardTable) -> None:
        """Raise DatasetError where the table's identifiers are not the numbers of a file's rows, which name nothing."""
        if set(names) != set(positions):
            first, last = (choose(names, key=lambda name: (len(name), name)) for choose in (min, max))
            raise DatasetError(
                f"{self.title}: the rows of {self.card.signals.files} count from 0 to {len(positions) - 1}, and "
                f"{table.file} has {len(names)} recordings, {first!r} to {last!r}, in {table.recording}: number "
                "them as the rows, or name the array of their identifiers by signals.ids_name"
            )

    def _entry(self, name: str, rows: Sequence[Row], files: Sequence[CardFile]) -> Entry:
        """The entry of a recording. Raises Unusable."""
        table, labels, row = self.card.table or NO_TABLE, self.card.labels, rows[0]
        if len(files) != 1:
            several = ", ".join(file.path for file in files)[:200]
            raise Unusable(f"several files of one recording; narrow signals.files: {several}" if files else NO_FILE)
        stated = row[table.patient] if table.patient else files[0].patient
        if labels is None:
            classes: tuple[int, ...] = ()
        elif labels.comment:
            classes = labels.of_texts(comments((self.root / files[0].path).with_suffix(""), labels.comment))
        elif labels.column:
            classes = labels.of_texts(row[column] for row in rows for column in labels.columns)
        else:
            classes = labels.of_columns(row)
        return Entry(
            recording=name,
            patient=patient_of(stated) or (nobody(name) if table.patient or stated else name),
            path=files[0].path,
            labels=classes,
            report=row[table.report] if table.report else "",
            fold=table.parts.fold_of(row[table.parts.column]) if table.parts else None,
        )

    def _warnings(self, entries: Sequence[Entry], rows: Mapping[str, list[Row]], table: CardTable) -> list[str]:
        """What was odd in the table and could be read in one way only.

        Raises DatasetError where no recording is of a part of the card's split.
        """
        folds, warnings = {entry.fold for entry in entries}, list[str]()
        if missing := [part for part, fold in FOLDS.items() if table.split and entries and fold not in folds]:
            raise DatasetError(
                f"{self.title}: no row is of the part {missing[0]} of table.split: name its values there (a split has "
                "train, validation and test), or leave table.split out and the suite splits"
            )
        if not is_utf8(self.root / table.file):
            warnings.append(f"{table.file} is not UTF-8 and was read as Latin-1: save it as UTF-8")
        if several := sum(len(same) > 1 for same in rows.values()):
            warnings.append(f"{several} recordings have several rows, whose labels are taken together")
        unknown = [entry.recording for entry in entries if table.patient and entry.patient == nobody(entry.recording)]
        if unknown:
            cells = dict.fromkeys(repr(rows[name][0][table.patient or ""]) for name in unknown)
            count = f"{len(unknown)} of {len(entries)} recordings name no patient and count as a person each"
            warnings.append(f"{count}: {', '.join(cells)[:SHOWN]} in {table.patient}")
        return warnings


def nobody(recording: str) -> str:
    """Return the person of a recording whose patient is not known."""
    return f"?{recording}"
