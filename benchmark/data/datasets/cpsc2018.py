"""CPSC2018 (Liu et al., J Med Imaging Health Inform 2018): 6,877 recordings of 6 to 60 s, up to three of nine labels.

Patients are not named: each recording counts as one. Headers list labels in another order than the publisher's
REFERENCE.csv, whose first label counts; cpsc2018_first_label.csv has it for the 477 with several (CC BY 4.0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from benchmark.data.datasets.base import Entry, Listing, NamedTask
from benchmark.data.datasets.tables import make_listing
from benchmark.data.datasets.wfdb_files import WFDBFolder, diagnosis_codes, find_records

FORMS = ("Training_WFDB", "WFDB_CPSC2018", "WFDB")
"""The preferred first; only the first with a recording is read."""
FIRST_LABELS = Path(__file__).with_name("cpsc2018_first_label.csv")
SNOMED = {
    "426783006": "Normal",
    "164889003": "AF",
    "270492004": "I-AVB",
    "164909002": "LBBB",
    "59118001": "RBBB",
    "284470004": "PAC",
    "164884008": "PVC",
    "429622005": "STD",
    "164931005": "STE",
}


class CPSC2018(WFDBFolder):
    """The folder with Training_WFDB/ (Challenge 2020) or WFDB_CPSC2018/ (Challenge 2021)."""

    name = "cpsc2018"
    title = "CPSC2018"
    classes = ("Normal", "AF", "I-AVB", "LBBB", "RBBB", "PAC", "PVC", "STD", "STE")
    first_label_counts = True
    how_to_get = "Get it from https://physionet.org/content/challenge-2021/1.0.3/ (training/cpsc_2018)"
    licence = "Creative Commons Attribution 4.0, https://physionet.org/content/challenge-2021/view-license/1.0.3/"
    cite = "Liu et al., J Med Imaging Health Inform 2018; Reyna et al., https://doi.org/10.13026/34va-7q14"
    folders = (
        "cpsc2018",
        "cpsc_2018",
        "Training_WFDB",
        "WFDB_CPSC2018",
        "physionet.org/files/challenge-2021/1.0.3/training/cpsc_2018",
    )
    suffix = ".mat"
    tasks: ClassVar[Mapping[str, NamedTask]] = {
        "all": NamedTask("all labels of a recording", classes, None, "shuffled")
    }

    def listing(self) -> Listing:
        """List the recordings of the preferred form; labels are those of their headers, the first first.

        Raises DatasetError where there is no recording.
        """
        records = find_records(self, FORMS, re.compile(r"A\d{4}", re.ASCII).fullmatch, "A0001 to A6877")
        first = dict(line.split(",") for line in FIRST_LABELS.read_text(encoding="ascii").split())

        def entry(name: str, path: str) -> Entry:
            """Make an entry with its first label before the others; codes outside the nine classes are ignored."""
            stated = dict.fromkeys(SNOMED.get(code, code) for code in diagnosis_codes(self.root / path))
            in_order = sorted(stated, key=lambda label: label != first.get(name))
            labels = [self.classes.index(label) for label in in_order if label in self.classes]
            return Entry(recording=name, patient=name, path=path, labels=tuple(labels))

        return make_listing(records.paths, entry, records.form, warnings=records.warnings)
