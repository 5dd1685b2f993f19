"""WFDB as PTB and INCART have it: fifteen leads in two files without stated units, and records of patients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.data.readers.base import LEADS
from benchmark.data.readers.cards.ecgbench.dataset import ECGBenchDataset

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
