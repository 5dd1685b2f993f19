"""Chapman-Shaoxing and Ningbo: three on-disk forms, four rhythm groups, 38 rhythms and conditions.

Chapman-Shaoxing (Zheng et al., Sci Data 2020): 10,646 recordings, one per patient, JS00001 to JS10646. Ningbo First
Hospital's (Zheng et al., Sci Rep 2020): 34,905, one per patient, from JS10647 on, beside them in PhysioNet's
ecg-arrhythmia 1.0.0; another dataset.

figshare's form, in which Chapman-Shaoxing was first published and which the compared papers read: Diagnostics.xlsx and
ECGDataDenoised/*.csv, 10 s at 500 Hz as 5,000 lines of 12 leads in microvolt without a line of names. Its signals are
denoised, those of the other forms are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.data.datasets.base import LEADS, DatasetError, Entry, Listing, NamedTask, Recording, rows_beside
from benchmark.data.datasets.tables import Row, group_rows, make_listing, read_table
from benchmark.data.datasets.wfdb_files import WFDBFolder, checked_recording, diagnosis_codes, find_records, reasons

_ROWS = list(rows_beside(__file__, "chapman_codes.csv"))
RHYTHMS = {row["statement"]: row["rhythm"] for row in _ROWS if row["rhythm"]}
"""SNOMED code of a header or acronym of Diagnostics.xlsx -> rhythm group, as the dataset's authors merge them."""
RHYTHMS_PHYSIONET = {**RHYTHMS, "195101003": "GSVT"}  # PhysioNet: wandering rhythm; Challenge: pacemaker
_CONDITIONS = {row["statement"]: row["condition"] for row in _ROWS if row["condition"]}
CLASSES = tuple(dict.fromkeys(_CONDITIONS.values()))
"""Acronyms of ConditionNames_SNOMED-CT.csv: MERL's 38 classes (Liu et al., ICML 2024), in the order of its files."""
CONDITION_OF_STATEMENT = _CONDITIONS | {name: name for name in CLASSES}
"""Condition of each code of the headers and of each acronym of figshare's table.

Where ConditionNames_SNOMED-CT.csv gives several acronyms to one code, the first. Bradycardia is not among the classes,
so a recording with it alone is dropped.
"""
CONDITIONS = NamedTask("rhythms and conditions, MERL's 38", CLASSES, CONDITION_OF_STATEMENT, "shuffled")
PHYSIONET, FIGSHARE = "WFDBRecords", "figshare ECGDataDenoised"
COLUMNS = ("FileName", "Rhythm", "Beat")
"""Columns of Diagnostics.xlsx; the last one has conditions, separated by blanks."""


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
    tasks: ClassVar[Mapping[str, NamedTask]] = {"all": CONDITIONS}
    names = ("JS00001", "JS10646")
    """The first and the last recording; others are another dataset's."""
    forms = (PHYSIONET, "WFDB_ChapmanShaoxing")
    """The preferred first; only the first with a recording is read."""
    table = "Diagnostics.xlsx"
    """Beside ECGDataDenoised/; read only if there is no other form, since its signals are denoised."""

    def listing(self) -> Listing:
        """List the recordings of the preferred form; labels are their rhythm groups.

        Raises DatasetError where there is none.
        """
        first, last = self.names
        try:
            records = find_records(
                self,
                self.forms,
                lambda name: re.fullmatch(r"JS\d{5}", name, re.ASCII) and first <= name <= last,
                f"{first} to {last}",
            )
        except DatasetError:
            if not (self.root / self.table).is_file():
                raise
            return self._figshare_listing()
        rhythms = RHYTHMS_PHYSIONET if records.form == PHYSIONET else RHYTHMS
        return make_listing(
            records.paths,
            lambda name, path: self._entry(name, path, diagnosis_codes(self.root / path), rhythms),
            records.form,
            warnings=records.warnings,
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the header and the signal file; of a CSV recording, the one file."""
        return (self.root / entry.path,) if entry.path.endswith(".csv") else super().files(entry)

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable."""
        if not entry.path.endswith(".csv"):
            return super().read(entry)
        import pandas as pd  # here, because it loads slowly and the names of datasets need none of it

        path = self.root / entry.path
        with reasons(path):
            microvolts = pd.read_csv(path, header=None, dtype=np.float64).to_numpy()
            signal = 1e-3 * microvolts.reshape(5000, len(LEADS))  # (n, 12)
        return checked_recording(signal, 500.0)

    def _entry(self, name: str, path: str, codes: Iterable[str], rhythms: Mapping[str, str]) -> Entry:
        groups = dict.fromkeys(rhythms[code] for code in codes if code in rhythms)
        return Entry(name, name, path, tuple(map(self.classes.index, groups)), statements="\n".join(codes))

    def _figshare_listing(self) -> Listing:
        """List every row of Diagnostics.xlsx, whether its CSV file exists or not."""

        def entry(name: str, same: list[Row]) -> Entry:
            acronyms = dict.fromkeys(f"{same[0]['Rhythm']} {same[0]['Beat']}".split())
            return self._entry(name, f"ECGDataDenoised/{name}.csv", acronyms, RHYTHMS)

        rows, skipped = group_rows(read_table(self, self.root / self.table, COLUMNS), "FileName", str)
        return make_listing(rows, entry, FIGSHARE, skipped)


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
    names = ("JS10647", "JS99999")
    forms = (PHYSIONET, "WFDB_Ningbo")
    table = ""
