"""Chapman-Shaoxing (Zheng et al., Sci Data 2020): 10,646 recordings, one per patient, rhythm in four groups.

The recordings are JS00001 to JS10646; higher numbers in the same folders are the Ningbo database, another dataset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchmark.data.readers import chapman_figshare as figshare
from benchmark.data.readers.base import DatasetError, Entry, Listing, Person, Recording, Unusable
from benchmark.data.readers.files.tables import Row, Table, keyed, listing_of
from benchmark.data.readers.files.wfdb_record import diagnosis_codes, one_of, read_recording, record_files, records_at

LAST = 10646
RHYTHMS = {
    "426177001": "SB",
    "164889003": "AFIB",  # atrial fibrillation
    "164890007": "AFIB",  # atrial flutter
    "427084000": "GSVT",  # sinus tachycardia
    "426761007": "GSVT",  # supraventricular tachycardia
    "713422000": "GSVT",  # atrial tachycardia
    "233896004": "GSVT",  # atrioventricular node reentrant tachycardia, PhysioNet's code
    "251166008": "GSVT",  # the same, the Challenge's code
    "233897008": "GSVT",  # atrioventricular reentrant tachycardia
    "17366009": "GSVT",  # sinus atrium to atrial wandering rhythm, the Challenge's code
    "426783006": "SR",
    "427393009": "SR",  # sinus irregularity
}
"""SNOMED code -> rhythm group, as the dataset's authors merge them."""
RHYTHMS_PHYSIONET = {**RHYTHMS, "195101003": "GSVT"}  # PhysioNet: wandering rhythm; Challenge: pacemaker
FORMS: tuple[Form, ...] = (
    ("WFDBRecords", "WFDBRecords/*/*/JS*", RHYTHMS_PHYSIONET),
    ("WFDBRecords", "ecg-arrhythmia-1.0.0/WFDBRecords/*/*/JS*", RHYTHMS_PHYSIONET),
    ("WFDB_ChapmanShaoxing", "WFDB_ChapmanShaoxing/JS*", RHYTHMS),
    ("WFDB_ChapmanShaoxing", "JS*", RHYTHMS),
    ("WFDB_ChapmanShaoxing", "g*/JS*", RHYTHMS),
)
"""Form, glob pattern of its records and codes, the preferred first; only the first with a recording is read."""
NINGBO = "WFDB_Ningbo/JS*"
FIGSHARE = "figshare ECGDataDenoised"
FIGSHARE_TABLES = ("Diagnostics.xlsx", "figshare/Diagnostics.xlsx")
"""Beside ECGDataDenoised/; read only if there is no other form, since its signals are denoised."""
RECORD = re.compile(r"JS(\d{5})", re.ASCII)
CSV_RECORD = re.compile(r"[-\w]{1,99}", re.ASCII)
Form = tuple[str, str, Mapping[str, str]]


class Chapman:
    """The folder with WFDBRecords/ (PhysioNet), WFDB_ChapmanShaoxing/ (Challenge) or ECGDataDenoised/ (figshare)."""

    name: ClassVar[str] = "chapman"
    title: ClassVar[str] = "Chapman"
    classes: ClassVar[tuple[str, ...]] = ("SB", "AFIB", "GSVT", "SR")
    first_label_counts: ClassVar[bool] = False
    how_to_get: ClassVar[str] = "Get it from https://physionet.org/content/ecg-arrhythmia/1.0.0/"
    licence: ClassVar[str] = (
        "Creative Commons Attribution 4.0, https://physionet.org/content/ecg-arrhythmia/view-license/1.0.0/"
    )
    cite: ClassVar[str] = "Zheng et al., Sci Data 2020, https://doi.org/10.13026/wgex-er52"
    folders: ClassVar[tuple[str, ...]] = (
        "chapman",
        "chapman_shaoxing",
        "WFDB_ChapmanShaoxing",
        "ecg-arrhythmia-1.0.0",
        "a-large-scale-12-lead-electrocardiogram-database-for-arrhythmia-study-1.0.0",
        "physionet.org/files/ecg-arrhythmia/1.0.0",
        "physionet.org/files/challenge-2021/1.0.3/training/chapman_shaoxing",
    )

    numbers: ClassVar[range] = range(1, LAST + 1)
    forms: ClassVar[tuple[Form, ...]] = FORMS
    tables: ClassVar[tuple[str, ...]] = FIGSHARE_TABLES

    def __init__(self, root: Path) -> None:
        self.root = root

    def listing(self) -> Listing:
        """Recordings of the preferred form; labels are their rhythm groups. Raises DatasetError if there is none."""
        found = [(form, self._own(records_at(self.root, pattern)), rhythms) for form, pattern, rhythms in self.forms]
        found = [(form, records, rhythms) for form, records, rhythms in found if records]
        tables = self._workbooks()
        if not found and not tables:
            raise DatasetError(self._nothing_here())
        if not found:
            return self._figshare_listing(tables[0])
        form, records, rhythms = found[0]
        others = dict.fromkeys([*(form for form, _, _ in found[1:]), *([FIGSHARE] if tables else [])])
        return listing_of(
            Table([(name,) for name in sorted(records)], []),
            lambda row: self._entry(records[row[0]], rhythms),
            form=form,
            others=[other for other in others if other != form],
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file; of a CSV recording, the one file."""
        if entry.path.endswith(".csv"):
            return (self.root / entry.path,)
        return record_files(self.root / entry.path, ".mat")

    def people(self) -> dict[str, Person]:
        """By the workbook of the figshare form."""
        tables = self._workbooks()
        return figshare.people_in(tables[0]) if tables else {}

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        if entry.path.endswith(".csv"):
            return figshare.read_csv_recording(self.root / entry.path)
        return read_recording(self.root / entry.path)

    def _workbooks(self) -> list[Path]:
        """Those of the figshare form that are there, the preferred first."""
        return [self.root / name for name in self.tables if (self.root / name).is_file()]

    def _entry(self, copies: Sequence[Path], rhythms: Mapping[str, str]) -> Entry:
        record = one_of(copies, ".hea")
        codes = diagnosis_codes(record)
        groups = dict.fromkeys(rhythms[code] for code in codes if code in rhythms)
        return Entry(
            recording=record.name,
            patient=record.name,
            path=record.relative_to(self.root).as_posix(),
            labels=tuple(self.classes.index(group) for group in groups),
            statements=codes,
        )

    def _figshare_listing(self, path: Path) -> Listing:
        """Every row of Diagnostics.xlsx, whether its CSV file exists or not."""
        folder = (path.parent / "ECGDataDenoised").relative_to(self.root)

        def entry(row: Row) -> Entry:
            name, rhythm, conditions = row
            if rhythm and rhythm not in figshare.RHYTHMS:
                raise Unusable(f"unknown rhythm: {rhythm[:60]!r}")
            labels = (self.classes.index(figshare.RHYTHMS[rhythm]),) if rhythm else ()
            path = (folder / f"{name}.csv").as_posix()
            acronyms = tuple(dict.fromkeys(f"{rhythm} {conditions}".split()))
            return Entry(recording=name, patient=name, path=path, labels=labels, statements=acronyms)

        table = keyed(figshare.read_diagnostics(self, path), lambda name: name if CSV_RECORD.fullmatch(name) else None)
        return listing_of(table, entry, form=FIGSHARE)

    def _nothing_here(self) -> str:
        patterns = [pattern for _, pattern, _ in self.forms]
        if any(records_at(self.root, pattern) for pattern in (*patterns, NINGBO)):
            found = f"only recordings of Ningbo (JS{LAST + 1} and above), which is another dataset, are in {self.root}"
        else:
            looked_for = ", ".join([f"{pattern}.hea" for pattern in patterns] + list(FIGSHARE_TABLES))
            found = f"no JS00001 to JS{LAST} in {self.root}: looked for {looked_for}"
        return f"{self.title}: {found}. {self.how_to_get}"

    def _own(self, records: dict[str, list[Path]]) -> dict[str, list[Path]]:
        """The records with the dataset's numbers alone: the folders of both releases hold those of Ningbo too."""
        numbers = {name: match for name in records if (match := RECORD.fullmatch(name))}
        return {name: records[name] for name, match in numbers.items() if int(match[1]) in self.numbers}
