"""The MIMIC-IV-ECG reader: reports joined to recordings, and partial copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG, REPORTS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "record_list.csv").write_text(
        "subject_id,study_id,file_name,ecg_time,path\n"
        "10000032,40689238,40689238,2180-07-23 08:44:00,files/p1000/p10000032/s40689238/40689238\n"
        "10000032,40689239,40689239,2180-07-24 08:44:00,files/p1000/p10000032/s40689239/40689239\n"
        "10010032,40689240,40689240,2180-07-24 08:44:00,files/p1001/p10010032/s40689240/40689240\n"
    )
    lines = {**dict.fromkeys(REPORTS, ""), "report_0": "Sinus rhythm", "report_3": " Normal ECG ", "report_17": "end"}
    (tmp_path / "machine_measurements.csv").write_text(
        f"subject_id,study_id,{','.join(REPORTS)},bandwidth\n10000032,40689238,{','.join(lines.values())},x\n"
    )
    (tmp_path / "files" / "p1000").mkdir(parents=True)
    return tmp_path


def test_entries_carry_patient_and_report(root: Path):
    listing = MIMICIVECG(root).listing()
    first, second = listing.entries
    assert (first.recording, first.patient, first.labels, first.fold) == ("40689238", "10000032", (), None)
    assert first.report == "Sinus rhythm. Normal ECG. end"
    assert second.patient == first.patient
    assert second.report == ""


def test_a_partial_copy_is_a_smaller_corpus(root: Path):
    assert MIMICIVECG(root).listing().form == "1 of 2 patient folders"
    (root / "files" / "p1001").mkdir()
    assert len(MIMICIVECG(root).listing().entries) == 3


def test_a_recording_is_read_from_its_two_files(
    root: Path, make_ecg: Callable[..., Any], write_record: Callable[..., Path]
):
    dataset = MIMICIVECG(root)
    entry = dataset.listing().entries[0]
    write_record(root / entry.path, make_ecg())
    assert dataset.read(entry).signal.shape == (5000, 12)
    assert [path.name for path in dataset.files(entry)] == ["40689238.hea", "40689238.dat"]
    assert all(path.is_file() for path in dataset.files(entry))


def test_a_damaged_line_of_the_reports_is_a_skip_once(root: Path):
    """That of a listed study as its recording's; any other by its line."""
    reports = root / "machine_measurements.csv"
    reports.write_text(
        reports.read_text().replace("10000032,40689238", "1,40689238") + reports.read_text().splitlines()[1]
    )
    with open(reports, "a") as file:
        file.write("\n10000032,40689239\n")
    listing = MIMICIVECG(root).listing()
    assert [entry.recording for entry in listing.entries] == ["40689238", "40689239"]
    assert listing.skipped == (("machine_measurements.csv line 4", "ragged row: 2 cells, the header has 21"),)
    reports.write_text(reports.read_text().replace("Normal ECG", "Abnormal ECG", 1))
    assert ("40689238", "machine report listed twice: 2 rows differ") in MIMICIVECG(root).listing().skipped
    assert len(MIMICIVECG(root).listing().skipped) == 2


def test_what_is_missing_is_named(root: Path):
    shutil.rmtree(root / "files")
    with pytest.raises(DatasetError, match=r"no waveforms in .*files/pNNNN"):
        MIMICIVECG(root).listing()
    (root / "files" / "p1000").mkdir(parents=True)
    (root / "machine_measurements.csv").unlink()
    with pytest.raises(DatasetError, match=r"no machine_measurements\.csv in"):
        MIMICIVECG(root).listing()
