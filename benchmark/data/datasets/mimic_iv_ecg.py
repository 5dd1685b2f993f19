"""MIMIC-IV-ECG 1.0 (Gow et al., PhysioNet 2023): 800,035 recordings with machine reports, for pretraining."""

from __future__ import annotations

from benchmark.data.datasets.base import DatasetError, Entry, Listing
from benchmark.data.datasets.tables import Row, group_rows, make_listing, patient_of, read_table
from benchmark.data.datasets.wfdb_files import WFDBFolder
from benchmark.results.canonical import whole_number

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
        records = read_table(self, self.root / "record_list.csv", ("study_id", "subject_id", "path"))
        folder = records["path"].str.split("/").str[:2].str.join("/")  # files/p1000
        here = [name for name in folder.unique() if (self.root / name).is_dir()]
        if not here:
            raise DatasetError(
                f"{self.title}: no waveforms in {self.root}: looked for the folders files/pNNNN "
                f"of record_list.csv. {self.how_to_get}"
            )
        table = read_table(self, self.root / "machine_measurements.csv", ("study_id", *REPORTS))
        reports = {
            whole_number(study): ". ".join(filter(None, lines)) for study, *lines in table.itertuples(index=False)
        }
        rows, skipped = group_rows(records[folder.isin(here)], "study_id", whole_number)

        def entry(study: str, same: list[Row]) -> Entry:
            patient = patient_of(same[0]["subject_id"]) or f"unknown-{study}"
            return Entry(study, patient, same[0]["path"], report=reports.get(study, ""))

        return make_listing(rows, entry, f"{len(here)} of {folder.nunique()} patient folders", skipped)
