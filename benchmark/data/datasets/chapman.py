"""Chapman-Shaoxing and Ningbo: three on-disk forms, four rhythm groups, 38 rhythms and conditions.

Chapman-Shaoxing (Zheng et al., Sci Data 2020): 10,646 recordings, one per patient, rhythm in four groups.

The recordings are JS00001 to JS10646; higher numbers in the same folders are the Ningbo database, another dataset.

The form in which Chapman-Shaoxing was first published (figshare): Diagnostics.xlsx and ECGDataDenoised/*.csv.

A CSV file is 10 s at 500 Hz, 5,000 lines of 12 leads in microvolt, without a line of names. This is the form the
compared papers read; its signals are denoised, those of the other forms are not.

Ningbo First Hospital's ECGs (Zheng et al., Sci Rep 2020): 34,905 recordings, one per patient, with Chapman's codes.

They stand beside Chapman-Shaoxing's in PhysioNet's ecg-arrhythmia 1.0.0 and have the numbers from JS10647 on.

The 38 rhythms and conditions of Chapman-Shaoxing and Ningbo that MERL (Liu et al., ICML 2024) classifies.

SNOMED codes of the releases' headers -> acronyms of ConditionNames_SNOMED-CT.csv; where that file gives several
acronyms to one code, the first. Bradycardia is not among them, so a recording with it alone is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.tables import Row, Table, keyed, listing_of, read_workbook
from benchmark.data.datasets.wfdb_files import (
    LARGEST_SIGNAL,
    WFDBFolder,
    check_file,
    checked_recording,
    diagnosis_codes,
    one_of,
    records_at,
)

SAMPLES, FS = 5000, 500.0
MILLIVOLTS_PER_MICROVOLT = 1e-3
COLUMNS = ("FileName", "Rhythm")
BEAT = "Beat"
"""Column of the conditions, separated by blanks; read where it is there."""
FIGSHARE_RHYTHMS = {
    "SB": "SB",
    "AFIB": "AFIB",
    "AF": "AFIB",  # atrial flutter
    "ST": "GSVT",
    "SVT": "GSVT",
    "AT": "GSVT",
    "AVNRT": "GSVT",
    "AVRT": "GSVT",
    "SAAWR": "GSVT",
    "SR": "SR",
    "SA": "SR",  # sinus irregularity
}
"""Rhythm of Diagnostics.xlsx -> rhythm group, as the dataset's authors merge them."""


def read_diagnostics(dataset: Dataset, path: Path) -> Table:
    """File name, rhythm and conditions of each row of Diagnostics.xlsx, as text.

    Raises DatasetError if it is no workbook or lacks a column.
    """
    try:
        cells = read_workbook(path)
    except ValueError as error:
        raise DatasetError(f"{dataset.title}: {path} is no workbook: {error}. {dataset.how_to_get}") from error
    header = cells[0] if cells else []
    lacking = [column for column in COLUMNS if header.count(column) != 1]
    if lacking:
        raise DatasetError(f"{dataset.title}: {path} has no column {', '.join(lacking)}. {dataset.how_to_get}")
    places = [header.index(column) for column in COLUMNS]
    beat = header.index(BEAT) if BEAT in header else None
    rows = [(*(row[place] for place in places), "" if beat is None else row[beat]) for row in cells[1:]]
    return Table(rows, [])


def read_csv_recording(path: Path) -> Recording:
    """One CSV file in mV, leads in the order of `LEADS`; raises Unusable where it is not 5,000 lines of 12 numbers."""
    check_file(path, LARGEST_SIGNAL)
    try:
        table = pd.read_csv(path, header=None, dtype=np.float64)  # with or without a byte-order mark
    except (OSError, ValueError) as error:  # pandas' own errors of parsing are ValueErrors
        raise Unusable(f"unreadable or truncated: {type(error).__name__}") from error
    signal = table.to_numpy() * MILLIVOLTS_PER_MICROVOLT  # (n, 12)
    if signal.shape != (SAMPLES, len(LEADS)):
        raise Unusable(f"not {SAMPLES} lines of {len(LEADS)} leads: {signal.shape[0]} of {signal.shape[1]}")
    return checked_recording(signal, FS)


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


class Chapman(WFDBFolder):
    """The folder with WFDBRecords/ (PhysioNet), WFDB_ChapmanShaoxing/ (Challenge) or ECGDataDenoised/ (figshare)."""

    name = "chapman"
    title = "Chapman"
    classes = ("SB", "AFIB", "GSVT", "SR")
    first_label_counts = False
    how_to_get = "Get it from https://physionet.org/content/ecg-arrhythmia/1.0.0/"
    licence = "Creative Commons Attribution 4.0, https://physionet.org/content/ecg-arrhythmia/view-license/1.0.0/"
    cite = "Zheng et al., Sci Data 2020, https://doi.org/10.13026/wgex-er52"
    folders: ClassVar[tuple[str, ...]] = (
        "chapman",
        "chapman_shaoxing",
        "WFDB_ChapmanShaoxing",
        "ecg-arrhythmia-1.0.0",
        "a-large-scale-12-lead-electrocardiogram-database-for-arrhythmia-study-1.0.0",
        "physionet.org/files/ecg-arrhythmia/1.0.0",
        "physionet.org/files/challenge-2021/1.0.3/training/chapman_shaoxing",
    )

    suffix = ".mat"
    numbers: ClassVar[range] = range(1, LAST + 1)
    forms: ClassVar[tuple[Form, ...]] = FORMS
    tables: ClassVar[tuple[str, ...]] = FIGSHARE_TABLES

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
        return super().files(entry)

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        if entry.path.endswith(".csv"):
            return read_csv_recording(self.root / entry.path)
        return super().read(entry)

    def _workbooks(self) -> list[Path]:
        """Those of the figshare form that are there, the preferred first."""
        return [self.root / name for name in self.tables if (self.root / name).is_file()]

    def _entry(self, copies: Sequence[Path], rhythms: Mapping[str, str]) -> Entry:
        record = one_of(copies)
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
            if rhythm and rhythm not in FIGSHARE_RHYTHMS:
                raise Unusable(f"unknown rhythm: {rhythm[:60]!r}")
            labels = (self.classes.index(FIGSHARE_RHYTHMS[rhythm]),) if rhythm else ()
            path = (folder / f"{name}.csv").as_posix()
            acronyms = tuple(dict.fromkeys(f"{rhythm} {conditions}".split()))
            return Entry(recording=name, patient=name, path=path, labels=labels, statements=acronyms)

        table = keyed(read_diagnostics(self, path), lambda name: name if CSV_RECORD.fullmatch(name) else None)
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


class Ningbo(Chapman):
    """The folder with WFDBRecords/ (PhysioNet) or WFDB_Ningbo/ (Challenge)."""

    name = "ningbo"
    title = "Ningbo"
    cite = "Zheng et al., Sci Rep 2020, https://doi.org/10.13026/wgex-er52"
    folders = (
        "ningbo",
        "WFDB_Ningbo",
        "ecg-arrhythmia-1.0.0",
        "a-large-scale-12-lead-electrocardiogram-database-for-arrhythmia-study-1.0.0",
        "physionet.org/files/ecg-arrhythmia/1.0.0",
        "physionet.org/files/challenge-2021/1.0.3/training/ningbo",
    )
    numbers: ClassVar[range] = range(LAST + 1, 100_000)
    forms: ClassVar[tuple[Form, ...]] = (
        ("WFDBRecords", "WFDBRecords/*/*/JS*", RHYTHMS_PHYSIONET),
        ("WFDBRecords", "ecg-arrhythmia-1.0.0/WFDBRecords/*/*/JS*", RHYTHMS_PHYSIONET),
        ("WFDB_Ningbo", "WFDB_Ningbo/JS*", RHYTHMS),
        ("WFDB_Ningbo", "JS*", RHYTHMS),
        ("WFDB_Ningbo", "g*/JS*", RHYTHMS),
    )
    tables = ()

    def _nothing_here(self) -> str:
        looked_for = ", ".join(f"{pattern}.hea" for _, pattern, _ in self.forms)
        found = f"no recording from JS{LAST + 1} on in {self.root}"
        return f"{self.title}: {found}: looked for {looked_for}. {self.how_to_get}"


CONDITION_OF_CODE: dict[str, str] = {
    "164917005": "AQW",  # abnormal Q wave
    "164937009": "UW",  # U wave
    "426783006": "SR",  # sinus rhythm
    "74390002": "WPW",
    "195042002": "2AVB",
    "713422000": "AT",  # atrial tachycardia
    "11157007": "VB",  # ventricular bigeminy
    "47665007": "ARS",  # axis right shift
    "428750005": "STTC",  # ST-T change
    "427393009": "SA",  # sinus irregularity
    "164930006": "STE",  # ST elevation
    "164931005": "STTU",  # ST tilt up
    "17338001": "VPB",  # ventricular premature beat, PhysioNet's code
    "427172004": "VPB",  # the same, the Challenge's code
    "59931005": "TWO",  # T wave opposite
    "39732003": "ALS",  # axis left shift
    "284470004": "APB",  # atrial premature beat
    "54016002": "2AVB1",
    "164947007": "PRIE",  # prolonged PR interval
    "251199005": "CCR",  # counterclockwise rotation
    "251198002": "CR",  # clockwise rotation
    "164890007": "AF",  # atrial flutter
    "233917008": "AVB",
    "111975006": "QTIE",  # prolonged QT interval
    "164909002": "LBBB",
    "75532003": "VEB",  # ventricular escape beat
    "426761007": "SVT",
    "733534002": "LBBB",  # complete, the Challenge's code
    "59118001": "RBBB",
    "713427006": "RBBB",  # complete, the Challenge's code
    "270492004": "1AVB",
    "429622005": "STDD",  # ST depression
    "164865005": "MI",
    "164889003": "AFIB",  # atrial fibrillation
    "164934002": "TWC",  # T wave change
    "164912004": "PWC",  # P wave change
    "428417006": "ERV",  # early repolarisation
    "89792004": "RVH",
    "164873001": "LVH",
    "427084000": "ST",  # sinus tachycardia
    "426995002": "JEB",  # junctional escape beat
}
CLASSES: tuple[str, ...] = tuple(dict.fromkeys(CONDITION_OF_CODE.values()))
"""In the order of MERL's files."""
CONDITION_OF_STATEMENT: dict[str, str] = {
    **CONDITION_OF_CODE,
    **{name: name for name in CLASSES},
    **dict.fromkeys(("MIBW", "MIFW", "MILW", "MISW"), "MI"),  # acronyms of one code
    **dict.fromkeys(("LBBBB", "LFBBB"), "LBBB"),
}
"""Of the codes of headers and the acronyms of figshare's table."""
