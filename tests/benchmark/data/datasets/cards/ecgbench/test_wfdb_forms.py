"""WFDB as PTB and INCART have it: fifteen leads in two files without stated units, and records of patients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.ecgbench import ECGBenchDataset

Open = Callable[..., ECGBenchDataset]
FRANK = ("vx", "vy", "vz")
GAIN = 2000


def write_ptb(record: Path, ecg: Any, reason: str) -> None:
    """A record of PTB: .dat with twelve leads, .xyz with three, gains without a unit, comments with the diagnosis."""
    record.parent.mkdir(parents=True, exist_ok=True)
    steps = np.rint(ecg * GAIN).astype("<i2")
    frank = steps[:, :3]
    steps.tofile(record.with_suffix(".dat"))
    frank.tofile(record.with_suffix(".xyz"))
    lines = [f"{record.name} 15 1000 {len(steps)}"]
    for names, content, suffix in ((LEADS, steps, "dat"), (FRANK, frank, "xyz")):
        for name, column in zip(names, content.T, strict=True):
            total = ((int(column.astype(int).sum()) + 32768) % 65536) - 32768
            lines.append(f"{record.name}.{suffix} 16 {GAIN} 16 0 {column[0]} {total} 0 {name.lower()}")
    comments = ["# age: 81", "# sex: female", f"# Reason for admission: {reason}"]
    record.with_suffix(".hea").write_text("\n".join([*lines, *comments, ""]))


def test_ptb(tmp_path: Path, opened: Open, make_ecg: Callable[..., Any]) -> None:
    root, reasons = tmp_path / "ptbdb", ("Myocardial infarction", "Healthy control")
    for number in range(24):
        folder = root / f"patient{number // 2 + 1:03}"
        write_ptb(folder / f"s{number:04}_re", make_ecg(seconds=2.0, fs=1000), reasons[number % 4 // 2])
    (root / "card.yaml").write_text("kind: ecgbench\ndataset: ptbdb\nlabels: {least_patients: 5}\n")
    dataset = opened(str(root / "card.yaml"), root)
    assert dataset.classes == ("Healthy control", "Myocardial infarction")
    entries = dataset.listing().entries
    assert Counter(entry.patient for entry in entries) == {f"patient{number:03}": 2 for number in range(1, 13)}
    recording = dataset.read(entries[0])
    assert recording.fs == 1000
    np.testing.assert_allclose(recording.signal, make_ecg(seconds=2.0, fs=1000), atol=0.5 / GAIN + 1e-6)
    record = root / entries[0].path
    both = tuple(record.with_suffix(suffix) for suffix in (".hea", ".dat", ".xyz"))
    assert dataset.files(entries[0]) == both
    both[2].unlink()
    assert dataset.files(entries[0]) == both, "a file that is gone is one of them"
    with pytest.raises(Unusable, match="missing"):
        dataset.read(entries[0])
    both[0].unlink()
    assert dataset.files(entries[0]) == both[:2]


def test_incart(tmp_path: Path, opened: Open, make_ecg: Callable[..., Any], write_record: Callable[..., Path]) -> None:
    root = tmp_path / "incartdb"
    diagnoses = ("Coronary artery disease", "Acute MI")
    for number in range(1, 25):
        patient = (number + 1) // 2
        comments = [f"<age>: 65 <sex>: F <diagnoses> {diagnoses[patient % 2]}", f"patient {patient}", "PVCs, noise"]
        write_record(root / f"I{number:02}", make_ecg(seconds=4.0, fs=257), fs=257, comments=comments)
        text = (root / f"I{number:02}.hea").read_text()
        (root / f"I{number:02}.hea").write_text(text.replace("# <age>", "#<age>"))
    (root / "card.yaml").write_text(
        "kind: ecgbench\ndataset: incartdb\nlabels: {field: diagnosis, least_patients: 5}\nsplit: ours\n"
    )
    dataset = opened(str(root / "card.yaml"), root)
    assert dataset.classes == ("Acute MI", "Coronary artery disease")
    listing = dataset.listing()
    assert len({entry.patient for entry in listing.entries}) == 12
    assert dataset.read(listing.entries[0]).fs == 257
    assert any("Could not read I01.atr" in line for line in listing.warnings)


def write_staffiii(root: Path, ecg: Any, write_record: Callable[..., Path]) -> None:
    """Twenty-four patients, a baseline and an inflation each: nine leads, the phases in a spreadsheet of 29 columns."""
    nine = ["V1", "V2", "V3", "V4", "V5", "V6", "I", "II", "III"]
    rows: list[list[Any]] = [[""] * 29 for _ in range(10)]
    for patient in range(1, 25):
        for letter in "ab":
            columns = [LEADS.index(lead) for lead in nine]
            write_record(root / "data" / f"{patient:03}{letter}", ecg[:, columns], fs=1000, leads=nine)
        own: list[Any] = [""] * 29
        own[0:3], own[3], own[6:8], own[28] = [patient, 61, "M"], f"{patient}a", [f"{patient}b", "mid LAD"], "no"
        rows.append(own)
    pd.DataFrame(rows).to_excel(root / "STAFF-III-Database-Annotations.xlsx", header=False, index=False)


def test_staffiii(
    tmp_path: Path, opened: Open, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
) -> None:
    ecg, root = make_ecg(seconds=2.0, fs=1000), tmp_path / "staffiii"
    ecg[:, 2] = ecg[:, 1] - ecg[:, 0]
    write_staffiii(root, ecg, write_record)
    dataset = opened("ecgbench:staffiii", root)
    assert dataset.classes == ("BI", "BR")
    entries = dataset.listing().entries
    assert [(entry.recording, entry.patient, entry.labels) for entry in entries[:2]] == [
        ("001a", "patient001", (1,)),
        ("001b", "patient001", (0,)),
    ]
    signal = dataset.read(entries[0]).signal  # (n, 12)
    measured = [0, 1, 2, *range(6, 12)]
    np.testing.assert_allclose(signal[:, measured], ecg[:, measured], atol=2e-3)
    one, two = signal[:, 0], signal[:, 1]
    expected = np.stack([-(one + two) / 2, one - two / 2, two - one / 2], axis=1)
    np.testing.assert_allclose(signal[:, 3:6], expected, atol=1e-6)
