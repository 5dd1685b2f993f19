"""A user's own folder of ECGs, as docs/OWN_DATA.md has it: WFDB records of simulated hearts and a table of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmark.data.simulate import CohortSettings, SimulatedDataset
from tests.on_disk import write_record

COLUMNS = ["recording", "patient", "rhythm", "sex", "age"]


def write_own_folder(folder: Path, recordings: int) -> Path:
    """The folder with waveforms/ and labels.csv: a recording a patient, with one of Chapman's rhythms."""
    dataset = SimulatedDataset("chapman", CohortSettings(recordings))
    rows = []
    for number, entry in enumerate(dataset.listing().entries):
        write_record(folder / "waveforms" / entry.recording, dataset.read(entry).signal, mat=True)
        rhythm = dataset.classes[entry.labels[0]]
        rows.append((entry.recording, f"P{number:03}", rhythm, "FM"[number % 2], 40 + number % 50))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / "labels.csv", index=False)
    return folder
