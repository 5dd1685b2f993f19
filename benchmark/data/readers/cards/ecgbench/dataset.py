"""A dataset of the package ecgbench in a folder: its tables and folds by the package, its signals read here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmark.data.readers.base import Dataset, DatasetError, Entry, Listing, Person, Recording, Unusable
from benchmark.data.readers.cards.cells import age_of, checked_identifier, sex_of
from benchmark.data.readers.cards.ecgbench.card import FORM, ECGBenchCard
from benchmark.data.readers.cards.ecgbench.labels import flags, stated
from benchmark.data.readers.cards.ecgbench.package import (
    Tables,
    columns_of,
    config_of,
    package_version,
    read_tables,
    refusal,
    text_of,
)
from benchmark.data.readers.cards.ecgbench.signals import SUFFIXES, Reference, meaning_of, read_signal, reference_of
from benchmark.data.readers.cards.forms import wfdb
from benchmark.data.readers.cards.forms.formats import READERS
from benchmark.data.readers.files.tables import Row, Table, keyed, listing_of, path_within
from benchmark.results.keys import digest

STANDARD_SCORES = (
    "samples are standard scores, as the publisher released them, and are read as millivolts: their amplitudes say "
    "nothing"
)
NO_PATIENTS = "no patients are named beside the recordings, so every recording counts as a person of its own"
SHOWN_LABELS = 5
SEX = ("sex", "Sex", "gender", "Gender")
REPORT = ("report_text", "report")
"""Columns of report texts: of MIMIC-IV-ECG, its lines joined by ' | ', and of PTB-XL."""
AGE = ("age", "age_years", "age_at_ecg", "PatientAge")


class ECGBenchDataset:
    """A card and a folder."""

    def __init__(self, card: ECGBenchCard, root: Path) -> None:
        self.card, self.root = card, root
        self.name, self.title = card.name, card.title
        self.classes, self.first_label_counts = card.classes, card.first_label_counts
        self.how_to_get = card.how_to_get

    @cached_property
    def config(self) -> Any:
        """The package's config. Raises DatasetError for a dataset that it does not have or that cannot be used."""
        try:
            config = config_of(self.card.dataset)
        except ValueError as error:
            raise DatasetError(f"{self.title}: {error}") from None
        if reason := refusal(config):
            raise DatasetError(f"{self.title}: {reason}")
        return config

    @cached_property
    def _meaning(self) -> Any:
        return meaning_of(self.config)

    def listing(self) -> Listing:
        """A recording per row of the package's table. Raises DatasetError where the folder is not the dataset's."""
        versions = READERS[SUFFIXES[self.config.signal_format]].versions(self.title)
        tables = read_tables(self.config, self.root, self.title, folds=self.card.split == "theirs" and self._labelled)
        fields = self._fields(tables)
        rows = keyed(
            Table([(name, str(place)) for place, name in enumerate(tables.names)], []), lambda name: name or None
        )
        kept = [row for row in rows.rows if not tables.paths[int(row[1])].startswith(tuple(self.card.leave_out))]
        outside: Counter[str] = Counter()
        columns = {name: tables.frame[name].tolist() for name in (*fields, *REPORT, *SEX, *AGE) if name in tables.frame}

        def entry(row: Row) -> Entry:
            place = int(row[1])
            cells = {name: column[place] for name, column in columns.items()}
            return self._entry(tables, row[0], place, cells, outside)

        form = f"{FORM}{self.card.dataset}, {self.config.signal_format}"
        listing = listing_of(Table(kept, rows.skipped), entry, form=form)
        warnings = [*tables.warnings, *self._said(tables, outside, len(rows.rows) - len(kept))]
        reading = digest(
            [self.card.model_dump(mode="json", exclude={"title", "how_to_get"}), package_version(), versions]
        )
        return Listing(listing.entries, listing.skipped, listing.form, (), tuple(warnings), reading)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """The files an entry is read from."""
        path = self.root / self._reference(entry).path
        return wfdb.files(path) if self.config.signal_format == "wfdb" else (path,)

    def people(self) -> dict[str, Person]:
        """None by a table; see the entries."""
        return {}

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_signal(self.root, self._reference(entry), self.config.signal_format, self._meaning)

    @property
    def _labelled(self) -> bool:
        return self.card.labels is not None

    def _reference(self, entry: Entry) -> Reference:
        return reference_of(entry.path, self.config.signal_format)

    def _fields(self, tables: Tables) -> list[str]:
        """The columns of the labels. Raises DatasetError where they are not among the package's."""
        labels = self.card.labels
        named = [] if labels is None else [labels.field] if isinstance(labels.field, str) else labels.field
        lacking = [field for field in named if field not in tables.frame]
        if lacking:
            there = ", ".join(columns_of(tables.frame))[:600]
            raise DatasetError(f"{self.title}: ecgbench's labels have no column {lacking[0]!r}; there are {there}")
        return named

    def _entry(self, tables: Tables, name: str, place: int, cells: Mapping[str, Any], outside: Counter[str]) -> Entry:
        patient = tables.patients[place] if tables.patients is not None else name
        fold = tables.folds.get(name)
        if tables.folds and fold is None:
            raise Unusable("on no side of ecgbench's split")
        return Entry(
            recording=checked_identifier(name),
            patient=checked_identifier(patient) or f"unknown-{name}",
            path=path_within(tables.paths[place]),
            labels=self._labels(cells, outside),
            report=next((text_of(cells[column]) for column in REPORT if column in cells), "").replace(" | ", ". "),
            fold=fold,
            sex=next((sex_of(text_of(cells[column])) for column in SEX if column in cells), ""),
            age=next((age_of(text_of(cells[column])) for column in AGE if column in cells), None),
        )

    def _labels(self, cells: Mapping[str, Any], outside: Counter[str]) -> tuple[int, ...]:
        """Indices of the classes of a recording; labels that are no class are counted in `outside`."""
        labels = self.card.labels
        if labels is None:
            return ()
        if isinstance(labels.field, list):
            own = flags(cells, labels.field)
        else:
            own = stated(cells[labels.field], labels.separator)
        outside.update(label for label in own if label not in labels.classes)
        return tuple(labels.classes.index(label) for label in own if label in labels.classes)

    def _said(self, tables: Tables, outside: Counter[str], left_out: int) -> list[str]:
        said = [] if tables.patients is not None else [NO_PATIENTS]
        if self.config.signal_units.lower() == "zscore":
            said.append(STANDARD_SCORES)
        if left_out:
            said.append(f"{left_out} recordings are left out by the card ({', '.join(self.card.leave_out)})")
        if outside:
            most = ", ".join(f"{label} {count}" for label, count in outside.most_common(SHOWN_LABELS))
            count = f"{len(outside)} labels are" if len(outside) > 1 else "1 label is"
            said.append(f"{count} no class and left out of {outside.total()} statements, most often {most}")
        return said


class ECGBenchSource(ECGBenchCard):
    """A card as the source of a dataset (`readers.base.Source`)."""

    def __call__(self, root: Path) -> Dataset:
        """The dataset in a folder; nothing is read yet."""
        return ECGBenchDataset(self, root)
