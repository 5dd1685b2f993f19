"""CPSC2018 (Liu et al., J Med Imaging Health Inform 2018): 6,877 recordings of 6 to 60 s, up to three of nine labels.

No patient is named, so each recording is its own. Only REFERENCE.csv tells which label is the first: the headers
list their labels in another order.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchmark.data.base import DatasetError, Entry, Listing, Recording
from benchmark.data.tables import read_table
from benchmark.data.wfdb_record import diagnosis_codes, read_recording, record_files

FORMS = (
    ("Training_WFDB", "Training_WFDB/A*.hea"),
    ("WFDB_CPSC2018", "WFDB_CPSC2018/A*.hea"),
    ("WFDB", "A*.hea"),
    ("WFDB", "g*/A*.hea"),
)
"""Form and where its headers lie, the preferred first; the first with a recording is read, alone."""
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
REFERENCE_COLUMNS = ("Recording", "First_label", "Second_label", "Third_label")


class CPSC2018:
    """The folder with Training_WFDB/ (and REFERENCE.csv in it or beside it) or WFDB_CPSC2018/."""

    name: ClassVar[str] = "cpsc2018"
    title: ClassVar[str] = "CPSC2018"
    classes: ClassVar[tuple[str, ...]] = ("Normal", "AF", "I-AVB", "LBBB", "RBBB", "PAC", "PVC", "STD", "STE")
    first_label_counts: ClassVar[bool] = True
    how_to_get: ClassVar[str] = (
        "Get it from https://physionet.org/content/challenge-2021/1.0.3/ (training/cpsc_2018); "
        "REFERENCE.csv from http://2018.icbeb.org/Challenge.html"
    )
    folders: ClassVar[tuple[str, ...]] = (
        "cpsc2018",
        "cpsc_2018",
        "Training_WFDB",
        "WFDB_CPSC2018",
        "physionet.org/files/challenge-2021/1.0.3/training/cpsc_2018",
    )

    def __init__(self, root: Path) -> None:
        self.root = root

    def listing(self) -> Listing:
        """Recordings of the first form found, by name; labels from REFERENCE.csv, else from their headers."""
        for form, pattern in FORMS:
            headers = {header.stem: header for header in self.root.glob(pattern)}
            if headers:
                return self._listing(form, [headers[name] for name in sorted(headers)])
        raise DatasetError(
            f"{self.title}: no recording in {self.root}: looked for {', '.join(pattern for _, pattern in FORMS)}. "
            f"{self.how_to_get}"
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, ".mat")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def _listing(self, form: str, headers: list[Path]) -> Listing:
        beside = [folder / "REFERENCE.csv" for folder in (headers[0].parent, self.root)]
        reference = next((path for path in beside if path.is_file()), None)
        if reference is None:
            labelled = {header.stem: self._header_labels(header) for header in headers}
            source = "labels of the headers"
        else:
            labelled = self._reference_labels(reference)
            source = "labels of REFERENCE.csv"
        entries = tuple(
            Entry(
                recording=header.stem,
                patient=header.stem,
                path=header.relative_to(self.root).with_suffix("").as_posix(),
                labels=labelled[header.stem],
            )
            for header in headers
            if header.stem in labelled
        )
        unnamed = tuple((header.stem, "not in REFERENCE.csv") for header in headers if header.stem not in labelled)
        return Listing(entries, unnamed, f"{form}, {source}")

    def _header_labels(self, header: Path) -> tuple[int, ...]:
        """Texts and SNOMED codes stand side by side in one folder; either is read, others are no label of the nine."""
        names = dict.fromkeys(SNOMED.get(code, code) for code in diagnosis_codes(header))
        return tuple(self.classes.index(name) for name in names if name in self.classes)

    def _reference_labels(self, path: Path) -> dict[str, tuple[int, ...]]:
        """Recording -> class indices, the first label first; the table numbers the classes from 1."""
        table = read_table(self, path, REFERENCE_COLUMNS)
        labels = {}
        for recording, *stated in table.itertuples(index=False):
            numbers = [number.removesuffix(".0") for number in stated if number]
            wrong = [number for number in numbers if not number.isdigit() or not 1 <= int(number) <= len(self.classes)]
            if wrong:
                raise DatasetError(f"{self.title}: {path}, {recording}: label {wrong[0]!r} is not 1 to 9")
            labels[recording] = tuple(int(number) - 1 for number in numbers)
        return labels
