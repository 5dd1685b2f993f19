"""Chapman-Shaoxing and Ningbo: three on-disk forms, four rhythm groups, 38 rhythms and conditions.

Chapman-Shaoxing (Zheng et al., Sci Data 2020): 10,646 recordings, one per patient, JS00001 to JS10646. Ningbo First
Hospital's (Zheng et al., Sci Rep 2020): 34,905, one per patient, from JS10647 on, beside them in PhysioNet's
ecg-arrhythmia 1.0.0; another dataset.

figshare's form, in which Chapman-Shaoxing was first published and which the compared papers read: Diagnostics.xlsx and
ECGDataDenoised/*.csv, 10 s at 500 Hz as 5,000 lines of 12 leads in microvolt without a line of names. Its signals are
denoised, those of the other forms are not.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.data.datasets.base import LEADS, DatasetError, Entry, Listing, Recording, Unusable
from benchmark.data.datasets.tables import SHOWN, Row, group_rows, make_listing, read_table
from benchmark.data.datasets.wfdb_files import WFDBFolder, checked_recording, diagnosis_codes, find_records, reasons

with open(Path(__file__).with_name("chapman_codes.csv"), encoding="ascii", newline="") as _file:
    _CODES = list(csv.DictReader(_file))
RHYTHMS = {row["code"]: row["rhythm"] for row in _CODES if row["rhythm"]}
"""SNOMED code -> rhythm group, as the dataset's authors merge them."""
RHYTHMS_PHYSIONET = {**RHYTHMS, "195101003": "GSVT"}  # PhysioNet: wandering rhythm; Challenge: pacemaker
FIGSHARE_RHYTHMS = {
    "SB": "SB",
    **dict.fromkeys(("AFIB", "AF"), "AFIB"),  # AF is atrial flutter
    **dict.fromkeys(("ST", "SVT", "AT", "AVNRT", "AVRT", "SAAWR"), "GSVT"),
    **dict.fromkeys(("SR", "SA"), "SR"),  # SA is sinus irregularity
}
"""Rhythm of Diagnostics.xlsx -> rhythm group."""
PHYSIONET, FIGSHARE = "WFDBRecords", "figshare ECGDataDenoised"
COLUMNS = ("FileName", "Rhythm", "Beat")
"""Of Diagnostics.xlsx; the last one has conditions, separated by blanks."""


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
    names: ClassVar[tuple[str, str]] = ("JS00001", "JS10646")
    """The first and the last recording; others are another dataset's."""
    forms: ClassVar[tuple[str, ...]] = (PHYSIONET, "WFDB_ChapmanShaoxing")
    """The preferred first; only the first with a recording is read."""
    table: ClassVar[str] = "Diagnostics.xlsx"
    """Beside ECGDataDenoised/; read only if there is no other form, since its signals are denoised."""

    def listing(self) -> Listing:
        """List the recordings of the preferred form; labels are their rhythm groups.

        Raises DatasetError where there is none.
        """
        first, last = self.names
        try:
            form, records = find_records(
                self,
                self.forms,
                lambda name: re.fullmatch(r"JS\d{5}", name, re.ASCII) and first <= name <= last,
                f"{first} to {last}",
            )
        except DatasetError:
            if not (self.root / self.table).is_file():
                raise
            return self._figshare_listing()
        rhythms = RHYTHMS_PHYSIONET if form == PHYSIONET else RHYTHMS
        return make_listing(records, lambda name, path: self._entry(name, path, rhythms), form)

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Return the header and the signal file; of a CSV recording, the one file."""
        return (self.root / entry.path,) if entry.path.endswith(".csv") else super().files(entry)

    def read(self, entry: Entry) -> Recording:
        """Read the signal in mV; raises Unusable."""
        path = self.root / entry.path
        return read_csv_recording(path) if entry.path.endswith(".csv") else super().read(entry)

    def _entry(self, name: str, path: str, rhythms: Mapping[str, str]) -> Entry:
        codes = diagnosis_codes(self.root / path)
        groups = dict.fromkeys(rhythms[code] for code in codes if code in rhythms)
        return Entry(name, name, path, tuple(map(self.classes.index, groups)), statements=codes)

    def _figshare_listing(self) -> Listing:
        """Every row of Diagnostics.xlsx, whether its CSV file exists or not."""

        def entry(name: str, same: list[Row]) -> Entry:
            rhythm = same[0]["Rhythm"]
            if rhythm and rhythm not in FIGSHARE_RHYTHMS:
                raise Unusable(f"unknown rhythm: {rhythm[:SHOWN]!r}")
            labels = (self.classes.index(FIGSHARE_RHYTHMS[rhythm]),) if rhythm else ()
            acronyms = tuple(dict.fromkeys(f"{rhythm} {same[0]['Beat']}".split()))
            return Entry(name, name, f"ECGDataDenoised/{name}.csv", labels, statements=acronyms)

        rows, skipped = group_rows(read_table(self, self.root / self.table, COLUMNS), "FileName", str)
        return make_listing(rows, entry, FIGSHARE, skipped)


def read_csv_recording(path: Path) -> Recording:
    """Read one CSV file, 5,000 lines of 12 leads in the order of `LEADS`, in mV; raises Unusable."""
    import pandas as pd  # here, because it loads slowly and the names of datasets need none of it

    with reasons():
        microvolts = pd.read_csv(path, header=None, dtype=np.float64).to_numpy()  # (n, 12)
    if microvolts.shape != (5000, len(LEADS)):
        raise Unusable(f"not 5000 lines of {len(LEADS)} leads: {len(microvolts)} of {microvolts.shape[1]}")
    return checked_recording(microvolts * 1e-3, 500.0)


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


CONDITION_OF_CODE = {row["code"]: row["condition"] for row in _CODES if row["condition"]}
"""SNOMED code of a header -> acronym of ConditionNames_SNOMED-CT.csv, of MERL's 38 classes (Liu et al., ICML 2024).

Where that file gives several acronyms to one code, the first. Bradycardia is not among them, so a recording with it
alone is dropped.
"""
CLASSES: tuple[str, ...] = tuple(dict.fromkeys(CONDITION_OF_CODE.values()))
"""In the order of MERL's files."""
CONDITION_OF_STATEMENT: dict[str, str] = {
    **CONDITION_OF_CODE,
    **{name: name for name in CLASSES},
    **dict.fromkeys(("MIBW", "MIFW", "MILW", "MISW"), "MI"),  # acronyms of one code
    **dict.fromkeys(("LBBBB", "LFBBB"), "LBBB"),
}
"""Of the codes of headers and the acronyms of figshare's table."""
