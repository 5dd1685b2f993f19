"""MIMIC-IV-ECG 1.0 (Gow et al., PhysioNet 2023): 800,035 recordings with machine reports, for pretraining."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from benchmark.data.base import DatasetError, Entry, Listing, Recording
from benchmark.data.tables import read_table
from benchmark.data.wfdb_record import read_recording, record_files

REPORTS = tuple(f"report_{line}" for line in range(18))


class MIMICIVECG:
    """The folder with record_list.csv, machine_measurements.csv and files/."""

    name: ClassVar[str] = "mimic-iv-ecg"
    title: ClassVar[str] = "MIMIC-IV-ECG"
    classes: ClassVar[tuple[str, ...]] = ()
    first_label_counts: ClassVar[bool] = False
    how_to_get: ClassVar[str] = "Get MIMIC-IV-ECG 1.0 from https://physionet.org/content/mimic-iv-ecg/1.0/"
    folders: ClassVar[tuple[str, ...]] = (
        "mimic-iv-ecg",
        "mimic-iv-ecg-diagnostic-electrocardiogram-matched-subset-1.0",
        "physionet.org/files/mimic-iv-ecg/1.0",
    )

    def __init__(self, root: Path) -> None:
        self.root = root

    def listing(self) -> Listing:
        """Rows of record_list.csv whose patient folder (files/pNNNN) is on disk: a partial copy is a smaller corpus."""
        records = read_table(self, self.root / "record_list.csv", ("subject_id", "study_id", "path"))
        folders = {_patient_folder(path) for path in records["path"]}
        here = {folder for folder in folders if (self.root / folder).is_dir()}
        if not here:
            raise DatasetError(
                f"{self.title}: no waveforms in {self.root}: looked for the folders files/pNNNN "
                f"of record_list.csv. {self.how_to_get}"
            )
        report = self._reports()
        entries = tuple(
            Entry(recording=study, patient=subject, path=path, report=report.get(study, ""))
            for subject, study, path in records.itertuples(index=False)
            if _patient_folder(path) in here
        )
        return Listing(entries, form=f"{len(here)} of {len(folders)} patient folders")

    def files(self, entry: Entry) -> tuple[Path, ...]:
        """Header and signal file."""
        return record_files(self.root / entry.path, ".dat")

    def read(self, entry: Entry) -> Recording:
        """The signal in mV; raises Unusable."""
        return read_recording(self.root / entry.path)

    def _reports(self) -> dict[str, str]:
        """Study -> its report lines that are not empty, joined by '. '."""
        table = read_table(self, self.root / "machine_measurements.csv", ("study_id", *REPORTS))
        return {
            study: ". ".join(line.strip() for line in lines if line.strip())
            for study, *lines in table.itertuples(index=False)
        }


def _patient_folder(path: str) -> str:
    """'files/p1000' of 'files/p1000/p10000032/s40689238/40689238'."""
    return "/".join(path.split("/")[:2])
