"""A user's own folder of ECGs, as docs/OWN_DATA.md has it: WFDB records of simulated hearts and a table of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from benchmark.data.datasets.chapman import Chapman
from benchmark.data.simulate import CohortSettings, write_cohort

COLUMNS = ["recording", "patient", "rhythm", "sex", "age"]


def write_own_folder(folder: Path, recordings: int) -> Path:
    """The folder with waveforms/ and labels.csv: a recording a patient, with one of Chapman's rhythms."""
    cohort = folder.with_name(f"{folder.name}-cohort")
    write_cohort("chapman", cohort, CohortSettings(recordings), seed=1)
    dataset = Chapman(cohort)
    (folder / "waveforms").mkdir(parents=True)
    rows = []
    for number, entry in enumerate(dataset.listing().entries):
        for path in dataset.files(entry):
            shutil.copy(path, folder / "waveforms" / path.name)
        rhythm = dataset.classes[entry.labels[0]]
        rows.append((entry.recording, f"P{number:03}", rhythm, "FM"[number % 2], 40 + number % 50))
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / "labels.csv", index=False)
    return folder
