"""Chapman-Shaoxing (Zheng et al., Sci Data 2020): 10,646 recordings, one per patient, rhythm in four groups.

The recordings are JS00001 to JS10646; higher numbers in the same folders are the Ningbo database, another dataset.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchmark.data.base import DatasetError, Entry, Listing, Recording
from benchmark.data.wfdb_record import diagnosis_codes, read_recording, record_files

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
RHYTHMS_PHYSIONET = {**RHYTHMS, "195101003": "GSVT"}  # there the wandering rhythm; elsewhere a wandering pacemaker
FORMS = (
    ("WFDBRecords", "WFDBRecords/*/*/JS*.hea", RHYTHMS_PHYSIONET),
    ("WFDBRecords", "ecg-arrhythmia-1.0.0/WFDBRecords/*/*/JS*.hea", RHYTHMS_PHYSIONET),
    ("WFDB_ChapmanShaoxing", "WFDB_ChapmanShaoxing/JS*.hea", RHYTHMS),
    ("WFDB_ChapmanShaoxing", "JS*.hea", RHYTHMS),
    ("WFDB_ChapmanShaoxing", "g*/JS*.hea", RHYTHMS),
)
"""Form, where its headers lie, and its codes, the preferred first; the first with a recording is read, alone."""


class Chapman:
    """The folder with WFDBRecords/ (PhysioNet) or WFDB_ChapmanShaoxing/ (Challenge 2021)."""

    name: ClassVar[str] = "chapman"
    title: ClassVar[str] = "Chapman"
    classes: ClassVar[tuple[str, ...]] = ("SB", "AFIB", "GSVT", "SR")
    first_label_counts: ClassVar[bool] = False
    how_to_get: ClassVar[str] = "Get it from https://physionet.org/content/ecg-arrhythmia/1.0.0/"
    folders: ClassVar[tuple[str, ...]] = (
        "chapman",
        "chapman_shaoxing",
        "WFDB_ChapmanShaoxing",
        "ecg-arrhythmia-1.0.0",
        "a-large-scale-12-lead-electrocardiogram-database-for-arrhythmia-study-1.0.0",
        "physionet.org/files/ecg-arrhythmia/1.0.0",
        "physionet.org/files/challenge-2021/1.0.3/training/chapman_shaoxing",
    )

    def __init__(self, root: Path) -> None:
        self.root = root

    def listing(self) -> Listing:
        """Recordings of the first form found, by name; labels are the groups of their rhythm codes."""
        for form, pattern, rhythms in FORMS:
            headers = {header.stem: header for header in self.root.glob(pattern) if _is_chapman(header.stem)}
            if headers:
                return Listing(tuple(self._entry(headers[name], rhythms) for name in sorted(headers)), form=form)
        raise DatasetError(
            f"{self.title}: no JS00001 to JS{LAST} in {self.root}: looked for "
            f"{', '.join(pattern for _, pattern, _ in FORMS)}. {self.how_to_get}"
        )

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, ".mat")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def _entry(self, header: Path, rhythms: dict[str, str]) -> Entry:
        groups = dict.fromkeys(rhythms[code] for code in diagnosis_codes(header) if code in rhythms)
        return Entry(
            recording=header.stem,
            patient=header.stem,
            path=header.relative_to(self.root).with_suffix("").as_posix(),
            labels=tuple(self.classes.index(group) for group in groups),
        )


def _is_chapman(name: str) -> bool:
    return name[2:].isdigit() and 1 <= int(name[2:]) <= LAST
