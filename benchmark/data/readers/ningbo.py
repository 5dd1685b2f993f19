"""Ningbo First Hospital's ECGs (Zheng et al., Sci Rep 2020): 34,905 recordings, one per patient, with Chapman's codes.

They stand beside Chapman-Shaoxing's in PhysioNet's ecg-arrhythmia 1.0.0 and have the numbers from JS10647 on.
"""

from __future__ import annotations

from typing import ClassVar

from benchmark.data.readers.chapman import LAST, RHYTHMS, RHYTHMS_PHYSIONET, Chapman, Form


class Ningbo(Chapman):
    """The folder with WFDBRecords/ (PhysioNet) or WFDB_Ningbo/ (Challenge)."""

    name: ClassVar[str] = "ningbo"
    title: ClassVar[str] = "Ningbo"
    cite: ClassVar[str] = "Zheng et al., Sci Rep 2020, https://doi.org/10.13026/wgex-er52"
    folders: ClassVar[tuple[str, ...]] = (
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
    tables: ClassVar[tuple[str, ...]] = ()

    def _nothing_here(self) -> str:
        looked_for = ", ".join(f"{pattern}.hea" for _, pattern, _ in self.forms)
        found = f"no recording from JS{LAST + 1} on in {self.root}"
        return f"{self.title}: {found}: looked for {looked_for}. {self.how_to_get}"
