"""CPSC2018 (Liu et al., J Med Imaging Health Inform 2018): 6,877 recordings of 6 to 60 s, up to three of nine labels.

Patients are not named: each recording counts as one. Headers list labels in another order than the publisher's
REFERENCE.csv, whose first label counts; cpsc2018_first_label.csv has it for the 477 with several (CC BY 4.0).
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Unusable
from benchmark.data.datasets.tables import Row, Table, keyed, listing_of, read_table, whole_number
from benchmark.data.datasets.wfdb_files import (
    WFDBFolder,
    diagnosis_codes,
    one_of,
    records_at,
)

FORMS = (
    ("Training_WFDB", "Training_WFDB/A*"),
    ("WFDB_CPSC2018", "WFDB_CPSC2018/A*"),
    ("WFDB", "A*"),
    ("WFDB", "g*/A*"),
)
"""Form and glob pattern of its records, the preferred first; only the first with a recording is read."""
FIRST_LABELS = Path(__file__).with_name("cpsc2018_first_label.csv")
RECORD = re.compile(r"A\d{4}", re.ASCII)
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


class CPSC2018(WFDBFolder):
    """The folder with Training_WFDB/ (and REFERENCE.csv in it or beside it) or WFDB_CPSC2018/."""

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

    def listing(self) -> Listing:
        """Recordings of the preferred form; labels from REFERENCE.csv where it is there, else from their headers.

        Raises DatasetError where there is no recording.
        """
        found = [(form, records) for form, pattern in FORMS if (records := self._records(pattern))]
        if not found:
            looked_for = ", ".join(f"{pattern}.hea" for _, pattern in FORMS)
            raise DatasetError(f"{self.title}: no recording in {self.root}: looked for {looked_for}. {self.how_to_get}")
        form, records = found[0]
        others = [other for other in dict.fromkeys(form for form, _ in found[1:]) if other != form]
        folder = min(copies[0] for copies in records.values()).parent
        beside = [path for path in (folder / "REFERENCE.csv", self.root / "REFERENCE.csv") if path.exists()]
        if beside:
            return self._reference_listing(beside[0], records, folder, form, others)
        first = dict(line.split(",") for line in FIRST_LABELS.read_text().split())
        return listing_of(
            Table([(name,) for name in sorted(records)], []),
            lambda row: self._entry(
                one_of(records[row[0]]), self._header_labels(records[row[0]][0], first.get(row[0]))
            ),
            form=f"{form}, labels of the headers",
            others=others,
        )

    def _records(self, pattern: str) -> dict[str, list[Path]]:
        """Records without extension that a glob pattern finds, by name; none where it finds no header."""
        records = records_at(self.root, pattern) if any(self.root.glob(f"{pattern}.hea")) else {}
        return {name: copies for name, copies in records.items() if RECORD.fullmatch(name)}

    def _entry(self, record: Path, labels: tuple[int, ...]) -> Entry:
        path = record.relative_to(self.root).as_posix()
        name = path.rpartition("/")[2]
        return Entry(recording=name, patient=name, path=path, labels=labels)

    def _header_labels(self, record: Path, first: str | None) -> tuple[int, ...]:
        """Class indices of a header's texts or SNOMED codes, `first` before the others.

        Codes outside the nine classes are ignored.
        """
        names = dict.fromkeys(SNOMED.get(code, code) for code in diagnosis_codes(record))
        ordered = sorted(names, key=lambda name: name != first)
        return tuple(self.classes.index(name) for name in ordered if name in self.classes)

    def _reference_listing(
        self, reference: Path, records: dict[str, list[Path]], folder: Path, form: str, others: list[str]
    ) -> Listing:
        """Every row of REFERENCE.csv, whether its recording exists or not, by name."""
        read = read_table(self, reference, REFERENCE_COLUMNS)
        table = keyed(read, lambda name: name if RECORD.fullmatch(name) else None)

        def entry(row: Row) -> Entry:
            name, *stated = row
            record = one_of(records.get(name, [folder / name]))
            return self._entry(record, self._reference_labels(stated))

        known = {name for name, *_ in table.rows} | {name for name, _ in table.skipped}
        unnamed = [(name, "not in REFERENCE.csv") for name in sorted(records) if name not in known]
        return listing_of(
            Table(sorted(table.rows), table.skipped + unnamed),
            entry,
            form=f"{form}, labels of REFERENCE.csv",
            others=others,
        )

    def _reference_labels(self, stated: list[str]) -> tuple[int, ...]:
        """Class indices, the first label first; the table numbers the classes from 1."""
        if any(stated) and not stated[0]:
            raise Unusable("first label is empty, a later one is not")
        numbers = [whole_number(number) or "0" for number in stated if number]
        for number, text in zip(numbers, filter(None, stated), strict=True):
            if not 1 <= int(number) <= len(self.classes):
                raise Unusable(f"label is not 1 to {len(self.classes)}: {text[:60]!r}")
        return tuple(dict.fromkeys(int(number) - 1 for number in numbers))
