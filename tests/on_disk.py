"""Simulated recordings in the files of the real datasets, for tests of what reads such files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import wfdb
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Entry
from benchmark.data.simulate import SimulatedDataset

Row = Mapping[str, object]


def write_record(
    path: Path,
    signal: NDArray[np.floating],
    *,
    fs: int = 500,
    leads: Sequence[str] = LEADS,
    comments: Sequence[str] = (),
    mat: bool = False,
) -> Path:
    """Write a WFDB record, as .dat or, with 24 bytes ahead of the samples, as the Challenge's .mat."""
    path.parent.mkdir(parents=True, exist_ok=True)
    n = len(leads)
    wfdb.wrsamp(
        path.name,
        fs=fs,
        units=["mV"] * n,
        sig_name=list(leads),
        p_signal=signal.astype(np.float64),
        fmt=["16"] * n,
        adc_gain=[1000.0] * n,
        baseline=[0] * n,
        comments=list(comments),
        write_dir=str(path.parent),
    )
    if mat:
        data = path.with_suffix(".dat")
        path.with_suffix(".mat").write_bytes(bytes(24) + data.read_bytes())
        data.unlink()
        header = path.with_suffix(".hea")
        header.write_text(header.read_text().replace(f"{path.name}.dat 16 ", f"{path.name}.mat 16+24 "))
    return path


def write_dataset(dataset: SimulatedDataset, folder: Path) -> None:
    """Write the recordings of a simulated cohort as its real dataset has them, with the tables that are read."""
    rows = [_write(dataset, folder, entry) for entry in dataset.listing().entries]
    if dataset.name == "ptb-xl":
        pd.DataFrame(rows).to_csv(folder / "ptbxl_database.csv", index=False)
    if dataset.name == "mimic-iv-ecg":
        for table in ("record_list.csv", "machine_measurements.csv"):
            pd.DataFrame(rows).to_csv(folder / table, index=False)


def _write(dataset: SimulatedDataset, folder: Path, entry: Entry) -> Row:
    """Write a recording; its row of the tables."""
    recording = dataset.read(entry)
    if dataset.name == "ptb-xl":
        path = f"records500/00000/{int(entry.recording):05d}_hr"
        write_record(folder / path, recording.signal, leads=[lead.upper() for lead in LEADS])
        return {
            "ecg_id": entry.recording,
            "patient_id": f"{entry.patient}.0",
            "report": entry.report,
            "scp_codes": dict.fromkeys(entry.statements.splitlines(), 100.0),
            "strat_fold": entry.fold,
            "filename_lr": path.replace("500", "100").replace("_hr", "_lr"),
            "filename_hr": path,
        }
    if dataset.name == "mimic-iv-ecg":
        path = f"files/p{entry.patient[:4]}/p{entry.patient}/s{entry.recording}/{entry.recording}"
        write_record(folder / path, recording.signal)
        lines = {f"report_{number}": "" for number in range(18)}
        lines |= {f"report_{number}": line for number, line in enumerate(recording.report.split(". "))}
        return {"subject_id": entry.patient, "study_id": entry.recording, "path": path, **lines}
    codes = entry.statements.splitlines() or [dataset.classes[label] for label in entry.labels]
    comments = ("Age: 50", "Sex: Female", f"Dx: {','.join(codes)}")
    inside = "Training_WFDB" if dataset.name == "cpsc2018" else "WFDBRecords/01/010"
    write_record(folder / inside / entry.recording, recording.signal, comments=comments, mat=True)
    return {}


def write_own_folder(folder: Path, recordings: int) -> Path:
    """Write the folder of docs/OWN_DATA.md: waveforms/ and labels.csv, a recording a patient, Chapman's rhythms."""
    dataset = SimulatedDataset("chapman", recordings)
    rows = []
    for number, entry in enumerate(dataset.listing().entries):
        write_record(folder / "waveforms" / entry.recording, dataset.read(entry).signal, mat=True)
        rhythm = dataset.classes[entry.labels[0]]
        rows.append((entry.recording, f"P{number:03}", rhythm, "FM"[number % 2], 40 + number % 50))
    pd.DataFrame(rows, columns=["recording", "patient", "rhythm", "sex", "age"]).to_csv(
        folder / "labels.csv", index=False
    )
    return folder
