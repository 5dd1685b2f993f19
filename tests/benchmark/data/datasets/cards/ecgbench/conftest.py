"""Small folders in the on-disk forms of public datasets: HDF5 a record, HDF5 of many, WFDB, CSV, NumPy of many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from benchmark.config.words import load_card
from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.ecgbench import ECGBenchDataset

CODES = {
    "1": ("A", "Normal ECG"),
    "22": ("C", "Sinus bradycardia"),
    "60": ("F", "VPC"),
    "310": ("Modifier", "Frequent"),
}
SPH = [("1", "22", "22;60+310", "1")[number % 4] for number in range(40)]
ABNORMALITIES = ("1dAVb", "RBBB", "LBBB", "SB", "ST", "AF")
PADDED = 40
"""Samples of zeros at either end of CODE-15%'s recordings."""
DX = {"ptb-xl": "426783006", "georgia": "164889003,999"}
Open = Callable[..., ECGBenchDataset]


@pytest.fixture
def sph(tmp_path: Path, make_ecg: Callable[..., Any]) -> Path:
    """Forty recordings of thirty-nine patients, an HDF5 file each."""
    root = tmp_path / "sph"
    (root / "records").mkdir(parents=True)
    names = [f"A{number:05}" for number in range(40)]
    for name in names:
        with h5py.File(root / "records" / f"{name}.h5", "w") as file:
            file["ecg"] = make_ecg(seconds=10.0).T.astype(np.float16)
    patients = ["S1", *(f"S{number}" for number in range(1, 40))]
    table = pd.DataFrame({"ECG_ID": names, "AHA_Code": SPH, "Patient_ID": patients, "Age": 60, "Sex": "F", "N": 5000})
    table.assign(Date="2020-01-01").to_csv(root / "metadata.csv", index=False)
    rows = [(category, code, text) for code, (category, text) in CODES.items()]
    pd.DataFrame(rows, columns=["Category", "Code", "Description"]).to_csv(root / "code.csv", index=False)
    return root


@pytest.fixture
def code15(tmp_path: Path, make_ecg: Callable[..., Any]) -> Path:
    """Thirty recordings in two HDF5 files; the second ends with the row of zeros that the release has."""
    root = tmp_path / "code15"
    root.mkdir()
    rows = []
    for part in range(2):
        ids = [100 * (part + 1) + number for number in range(15)]
        tracings = np.zeros((15 + part, 4096, 12), np.float32)
        for place, exam in enumerate(ids):
            ecg = make_ecg(seconds=10.24, fs=400)[: 4096 - 2 * PADDED] + 0.01
            tracings[place, PADDED:-PADDED] = ecg
            flags = dict.fromkeys(ABNORMALITIES, False) | {ABNORMALITIES[place % 6]: place % 3 > 0}
            rows.append({"exam_id": exam, "patient_id": exam // 2, **flags, "trace_file": f"exams_part{part}.hdf5"})
        with h5py.File(root / f"exams_part{part}.hdf5", "w") as file:
            file["tracings"], file["exam_id"] = tracings, [*ids, *([0] if part else [])]
    more = {"age": 50, "is_male": True, "nn_predicted_age": 51.0, "normal_ecg": False, "death": np.nan, "timey": np.nan}
    pd.DataFrame(rows).assign(**more).to_csv(root / "exams.csv", index=False)
    return root


@pytest.fixture
def challenge(tmp_path: Path, make_ecg: Callable[..., Any], write_record: Callable[..., Path]) -> Path:
    """Twenty recordings of two cohorts of Challenge 2021, as .mat."""
    root = tmp_path / "challenge2021"
    for cohort, codes in DX.items():
        for number in range(10):
            record = root / "training" / cohort / "g1" / f"{cohort[0].upper()}{number:05}"
            comments = ["Age: 61", "Sex: Female", f"Dx: {codes}"]
            write_record(record, make_ecg(seconds=2.0), comments=comments, mat=True)
    return root


@pytest.fixture
def shaoxing(tmp_path: Path, make_ecg: Callable[..., Any]) -> Path:
    """Twenty recordings as figshare has them: CSV in microvolts, a column a lead."""
    root = tmp_path / "chapman_shaoxing"
    (root / "ECGData").mkdir(parents=True)
    names = [f"MUSE_{number}" for number in range(20)]
    for name in names:
        pd.DataFrame(make_ecg(seconds=2.0) * 1000, columns=list(LEADS)).to_csv(
            root / "ECGData" / f"{name}.csv", index=False
        )
    table = {"FileName": names, "Rhythm": ["SB", "AFIB"] * 10, "Beat": "NONE", "PatientAge": 70, "Gender": "MALE"}
    pd.DataFrame(table).to_csv(root / "Diagnostics.csv", index=False)
    return root


@pytest.fixture
def echonext(tmp_path: Path, make_ecg: Callable[..., Any]) -> Path:
    """Twelve recordings in three NumPy files of many, a file a side."""
    root = tmp_path / "echonext"
    root.mkdir()
    sides = {"train": 6, "val": 3, "test": 3}
    rows = []
    for side, count in sides.items():
        scores = np.stack([make_ecg(fs=250) * (place + 1) for place in range(count)])  # (R, 2500, 12)
        np.save(root / f"EchoNext_{side}_waveforms.npy", scores[:, None].astype(np.float32))
        rows += [{"ecg_key": f"{side}{n}", "patient_key": f"p{side}{n}", "split": side} for n in range(count)]
    flag = [number % 2 for number in range(12)]
    table = pd.DataFrame(rows).assign(shd_moderate_or_greater_flag=flag, age_at_ecg=60, sex="F")
    table.to_csv(root / "echonext_metadata_100k.csv", index=False)
    return root


@pytest.fixture
def opened() -> Open:
    """The dataset of a word in a folder."""

    def of(word: str, root: Path) -> ECGBenchDataset:
        card = load_card(word, {f"ecgbench-{word.split(':')[1]}": root} if word.startswith("ecgbench:") else None)
        dataset = card(root)
        assert isinstance(dataset, ECGBenchDataset)
        return dataset

    return of
