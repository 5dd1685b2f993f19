"""MIMIC-IV-ECG 1.0 (Gow et al., PhysioNet 2023): 800,035 recordings with machine reports, for pretraining."""

from __future__ import annotations

from dataclasses import replace

from benchmark.data.datasets.base import DatasetError, Entry, Listing, Unusable
from benchmark.data.datasets.tables import Row, Table, keyed, listing_of, patient_of, read_table, whole_number
from benchmark.data.datasets.wfdb_files import WFDBFolder

COLUMNS = ("study_id", "subject_id", "path")
REPORTS = tuple(f"report_{line}" for line in range(18))


class MIMICIVECG(WFDBFolder):
    """The folder with record_list.csv, machine_measurements.csv and files/."""

    name = "mimic-iv-ecg"
    title = "MIMIC-IV-ECG"
    classes = ()
    first_label_counts = False
    how_to_get = "Get MIMIC-IV-ECG 1.0 from https://physionet.org/content/mimic-iv-ecg/1.0/"
    licence = "Open Database License (ODbL) 1.0, https://physionet.org/content/mimic-iv-ecg/view-license/1.0/"
    cite = "Gow et al., PhysioNet 2023, https://doi.org/10.13026/4nqg-sb35"
    folders = (
        "mimic-iv-ecg",
        "mimic-iv-ecg-diagnostic-electrocardiogram-matched-subset-1.0",
        "physionet.org/files/mimic-iv-ecg/1.0",
    )

    suffix = ".dat"

    def listing(self) -> Listing:
        """List the rows of record_list.csv with a patient folder (files/pNNNN): a partial copy is a smaller corpus."""
        records = keyed(read_table(self, self.root / "record_list.csv", COLUMNS), whole_number)
        folders = {_patient_folder(path) for _, _, path in records.rows}
        here = {folder for folder in folders if (self.root / folder).is_dir()}
        if not here:
            raise DatasetError(
                f"{self.title}: no waveforms in {self.root}: looked for the folders files/pNNNN "
                f"of record_list.csv. {self.how_to_get}"
            )
        reports = keyed(read_table(self, self.root / "machine_measurements.csv", ("study_id", *REPORTS)), whole_number)
        report = {study: ". ".join(filter(None, lines)) for study, *lines in reports.rows}
        doubtful = dict(reports.skipped)

        def entry(row: Row) -> Entry:
            study, subject, path = row
            if study in doubtful:
                raise Unusable(f"machine report {doubtful.pop(study)}")
            patient = patient_of(subject)
            if not patient:
                raise Unusable(f"no patient: {subject!r}")
            return Entry(study, patient, path, report=report.get(study, ""))

        part = Table([row for row in records.rows if _patient_folder(row[2]) in here], records.skipped)
        listing = listing_of(part, entry, form=f"{len(here)} of {len(folders)} patient folders")
        return replace(listing, skipped=(*listing.skipped, *doubtful.items()))


def _patient_folder(path: str) -> str:
    """'files/p1000' of 'files/p1000/p10000032/s40689238/40689238'."""
    return "/".join(path.split("/")[:2])
