"""Damaged and odd folders of MIMIC-IV-ECG, CPSC2018 and Chapman: right values, counted skips, or one error line."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.datasets.base import Dataset, DatasetError, Listing
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.cpsc2018 import CPSC2018
from benchmark.data.datasets.mimic_iv_ecg import MIMICIVECG, REPORTS


def mimic(root: Path, records: list[tuple[str, str, str]], reports: list[tuple[str, str]]) -> Dataset:
    (root / "files" / "p1000").mkdir(parents=True)
    rows = ["subject_id,study_id,path", *(",".join(record) for record in records)]
    (root / "record_list.csv").write_text("\n".join(rows))
    lines = [f"study_id,{','.join(REPORTS)}", *(f"{study},{report}{',' * 17}" for study, report in reports)]
    (root / "machine_measurements.csv").write_text("\n".join(lines))
    return MIMICIVECG(root)


PATH = "files/p1000/p1/s1/1"


@pytest.mark.parametrize(
    ("record", "report", "reason"),
    [
        (("", "2", PATH), ("2", "x"), "no patient: ''"),
        (("1.0E+07", "2", PATH), ("2", "x"), "no patient: '1.0E+07'"),
        (("10", "2", "../1"), ("2", "x"), "path refused: '../1'"),
        (("10", "2", "files/p1000/../../1"), ("2", "x"), "path refused: 'files/p1000/../../1'"),
        (("10", "2", PATH), ("1", "another report"), "machine report listed twice: 2 rows differ"),
        (("10", "1", "files/p1000/other"), ("2", "x"), "listed twice: 2 rows differ"),
    ],
)
def test_a_bad_row_of_mimic(tmp_path: Path, record: tuple[str, str, str], report: tuple[str, str], reason: str) -> None:
    listing = mimic(tmp_path, [("10", "1", PATH), record, ("11", "3", PATH)], [("1", "sinus"), report]).listing()
    assert reason in dict(listing.skipped).values()
    assert "3" in {entry.recording for entry in listing.entries}
    assert all(entry.report in ("sinus", "") for entry in listing.entries)


def test_reports_are_joined_however_the_studies_are_spelt(tmp_path: Path) -> None:
    (entry,) = mimic(tmp_path, [("10000032.0", "40689238", PATH)], [("40689238.0", "Sinus rhythm")]).listing().entries
    assert (entry.patient, entry.recording, entry.report) == ("10000032", "40689238", "Sinus rhythm")


def cpsc(root: Path, rows: str, names: str = "A0001 A0002") -> Dataset:
    (root / "Training_WFDB").mkdir(parents=True)
    for name in names.split():
        (root / "Training_WFDB" / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: AF\n")
    (root / "REFERENCE.csv").write_text("Recording,First_label,Second_label,Third_label\nA0001,1,,\n" + rows)
    return CPSC2018(root)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("A0002,0,,", "label is not 1 to 9: '0'"),
        ("A0002,5,10,", "label is not 1 to 9: '10'"),
        ("A0002,-1,,", "label is not 1 to 9: '-1'"),
        ("A0002,AF,,", "label is not 1 to 9: 'AF'"),
        ("A0002,,5,", "first label is empty, a later one is not"),
        ("A0002,5,,\nA0002,6,,", "listed twice: 2 rows differ"),
        ("", "not in REFERENCE.csv"),
    ],
)
def test_a_bad_row_of_reference(tmp_path: Path, row: str, reason: str) -> None:
    listing = cpsc(tmp_path, row).listing()
    assert [entry.recording for entry in listing.entries] == ["A0001"]
    assert listing.skipped == (("A0002", reason),)


@pytest.mark.parametrize(
    ("row", "labels"),
    [("A0002,5.0,2.0,", (4, 1)), ("A0002,5,5,", (4,)), ("A0002,,,", ()), ('"A0002"," 5 ",,', (4,))],
)
def test_an_odd_row_of_reference(tmp_path: Path, row: str, labels: tuple[int, ...]) -> None:
    assert cpsc(tmp_path, row).listing().entries[1].labels == labels


def test_a_reference_that_is_a_folder_is_not_taken_for_none(tmp_path: Path) -> None:
    dataset = cpsc(tmp_path, "")
    (tmp_path / "REFERENCE.csv").unlink()
    (tmp_path / "REFERENCE.csv").mkdir()
    with pytest.raises(DatasetError, match=r"CPSC2018: no REFERENCE\.csv in"):
        dataset.listing()


def chapman(root: Path, headers: dict[str, str]) -> Listing:
    for path, codes in headers.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{Path(path).stem} 12 500 5000\n{codes}\n")
    return Chapman(root).listing()


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        ("#Dx: 426177001", (0,)),
        ("# Dx:426177001 , 164934002", (0,)),
        ("#dx: 426177001;164934002", (0,)),
        ("#Dx: 426177001\n#Dx: 427084000", (0, 2)),
        ("#Dx:", ()),
        ("#Dx: Unknown", ()),
        ("#Dx: 4.26177E+08", ()),
        ("#Dx: 42617700", ()),
        ("#Dx 426177001", ()),
        ("no comment", ()),
    ],
)
def test_codes_of_a_header(tmp_path: Path, codes: str, labels: tuple[int, ...]) -> None:
    (entry,) = chapman(tmp_path, {"WFDB_ChapmanShaoxing/JS00001.hea": codes}).entries
    assert entry.labels == labels


def test_copies_in_two_folders_and_lone_files(tmp_path: Path) -> None:
    (tmp_path / "g1").mkdir()
    (tmp_path / "g1" / "JS00004.mat").touch()
    (tmp_path / "g1" / "JS00005.hea").symlink_to(tmp_path / "g1" / "JS00005.hea")
    (tmp_path / "g1" / "JS00006.hea").mkdir()
    (tmp_path / "g3").symlink_to(tmp_path)
    names = ("g1/JS00001.hea", "g2/JS00001.hea", "g1/JS00002.hea", "g1/JS٣٣٣٣٣.hea", "g1/JS00003 (copy).hea")
    (tmp_path / "g2").mkdir()
    (tmp_path / "g2" / "JS00002.hea").write_text("#Dx: 427084000\n")
    listing = chapman(tmp_path, dict.fromkeys(names, "#Dx: 426177001"))
    assert [(entry.recording, entry.path, entry.labels) for entry in listing.entries] == [
        ("JS00001", "g1/JS00001", (0,))
    ]
    assert dict(listing.skipped) == {
        "JS00002": "in several folders: 2 files that differ",
        "JS00004": "file missing: header",
        "JS00005": "unreadable file: Too many levels of symbolic links",
        "JS00006": "unreadable file: not a regular file",
    }
