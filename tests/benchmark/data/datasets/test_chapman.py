"""The Chapman reader: rhythm groups, the two forms, and the border to Ningbo.

Chapman as figshare has it: a workbook of diagnoses and CSV files in microvolt, right or refused with a reason.

Ningbo: the recordings from JS10647 on, in the folders that hold Chapman's too.

The conditions of Chapman and Ningbo: the codes and acronyms of the release, and those of the Challenge.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from benchmark.data.datasets.base import LEADS, Dataset, DatasetError, Unusable
from benchmark.data.datasets.chapman import (
    CLASSES,
    CONDITION_OF_CODE,
    CONDITION_OF_STATEMENT,
    Chapman,
    Ningbo,
    read_csv_recording,
)
from benchmark.data.simulate import CohortSettings
from tests.on_disk import write_dataset


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


def labels(root: Path) -> list[tuple[str, ...]]:
    return [tuple(Chapman.classes[label] for label in entry.labels) for entry in Chapman(root).listing().entries]


def test_rhythms_are_merged_into_four_groups(tmp_path: Path):
    rhythms = {
        "426177001": "SB",
        "164889003": "AFIB",
        "164890007": "AFIB",
        "427084000": "GSVT",
        "426761007": "GSVT",
        "713422000": "GSVT",
        "233896004": "GSVT",
        "251166008": "GSVT",
        "233897008": "GSVT",
        "17366009": "GSVT",
        "426783006": "SR",
        "427393009": "SR",
    }
    for number, code in enumerate(rhythms, start=1):
        add(tmp_path, "WFDBRecords/01/010", f"JS{number:05d}", f"164934002,{code}")
    assert labels(tmp_path) == [(group,) for group in rhythms.values()]
    assert Chapman.classes == ("SB", "AFIB", "GSVT", "SR")


def test_two_groups_are_both_kept_and_no_rhythm_is_no_label(tmp_path: Path):
    add(tmp_path, "WFDBRecords/01/010", "JS00001", "427393009,426783006")
    add(tmp_path, "WFDBRecords/01/010", "JS00002", "426177001,427084000")
    add(tmp_path, "WFDBRecords/01/010", "JS00003", "164934002")
    assert labels(tmp_path) == [("SR",), ("SB", "GSVT"), ()]


def test_195101003_is_a_rhythm_in_physionets_form_only(tmp_path: Path):
    add(tmp_path / "a", "WFDBRecords/01/010", "JS00001", "195101003")
    add(tmp_path / "b", "WFDB_ChapmanShaoxing", "JS00001", "195101003")
    assert labels(tmp_path / "a") == [("GSVT",)]
    assert labels(tmp_path / "b") == [()]


def test_ningbo_is_left_out(tmp_path: Path):
    for name in ("JS00000", "JS10646", "JS10647", "JS45551"):
        add(tmp_path, "WFDBRecords/01/010", name, "426783006")
    (entry,) = Chapman(tmp_path).listing().entries
    assert (entry.recording, entry.patient) == ("JS10646", "JS10646")
    assert entry.path == "WFDBRecords/01/010/JS10646"


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("WFDBRecords/02/020", "WFDBRecords"),
        ("ecg-arrhythmia-1.0.0/WFDBRecords/02/020", "WFDBRecords"),
        ("WFDB_ChapmanShaoxing", "WFDB_ChapmanShaoxing"),
        (".", "WFDB_ChapmanShaoxing"),
        ("g1", "WFDB_ChapmanShaoxing"),
    ],
)
def test_every_form_is_recognised(tmp_path: Path, folder: str, form: str):
    add(tmp_path, folder, "JS00002", "426783006")
    add(tmp_path, folder, "JS00001", "426783006")
    listing = Chapman(tmp_path).listing()
    assert listing.form == form
    assert [entry.recording for entry in listing.entries] == ["JS00001", "JS00002"]
    assert Chapman(tmp_path).files(listing.entries[0])[0].is_file()
    assert [path.name for path in Chapman(tmp_path).files(listing.entries[0])] == ["JS00001.hea", "JS00001.mat"]


def test_forms_are_not_pooled(tmp_path: Path):
    add(tmp_path, "WFDBRecords/01/010", "JS00001", "426783006")
    add(tmp_path, "WFDB_ChapmanShaoxing", "JS00002", "426783006")
    listing = Chapman(tmp_path).listing()
    assert [entry.recording for entry in listing.entries] == ["JS00001"]
    assert (listing.form, listing.others) == ("WFDBRecords", ("WFDB_ChapmanShaoxing",))


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path):
    with pytest.raises(DatasetError, match=r"no JS00001 to JS10646 in .*WFDBRecords/.*WFDB_ChapmanShaoxing/.*https://"):
        Chapman(tmp_path).listing()


def test_the_real_sample(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman")
    entries = dataset.listing().entries
    assert dataset.listing().others == ("WFDB_ChapmanShaoxing", "figshare ECGDataDenoised")
    assert [entry.recording for entry in entries] == ["JS00001", "JS00002", "JS00004", "JS00005"]
    assert [dataset.classes[label] for entry in entries for label in entry.labels] == ["AFIB", "SB", "SB", "AFIB"]
    assert dataset.read(entries[0]).signal.shape == (5000, 12)
    assert len(Chapman(shared_ecgs / "chapman" / "WFDB_ChapmanShaoxing").listing().entries) == 10


def test_ningbo_alone_is_another_dataset(shared_ecgs: Path, tmp_path: Path):
    with pytest.raises(
        DatasetError, match=r"Chapman: only recordings of Ningbo \(JS10647 and above\), which is another"
    ):
        Chapman(shared_ecgs / "chapman" / "WFDB_Ningbo").listing()
    add(tmp_path, "WFDB_Ningbo", "JS11438", "426783006")
    with pytest.raises(DatasetError, match="only recordings of Ningbo"):
        Chapman(tmp_path).listing()


def test_the_figshare_form(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman" / "figshare")
    listing = dataset.listing()
    counts = Counter(dataset.classes[label] for entry in listing.entries for label in entry.labels)
    assert counts == {"SB": 3889, "AFIB": 1780 + 445, "GSVT": 1568 + 587 + 121 + 16 + 8 + 7, "SR": 1826 + 399}
    assert (listing.form, listing.skipped) == ("figshare ECGDataDenoised", ())
    (entry,) = [entry for entry in listing.entries if dataset.files(entry)[0].is_file()]
    recording = dataset.read(entry)
    assert (recording.fs, recording.signal.shape) == (500, (5000, 12))
    assert recording.signal[0, :3].tolist() == pytest.approx([-0.16533, -0.35897, -0.12171])  # its first line is data


def ecg_csv() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.outer(np.sin(np.arange(5000) / 40), np.arange(100.0, 1300.0, 100.0))  # (5000, 12) in microvolt


def lines(change: Callable[[list[str]], list[str]], end: str = "\n") -> bytes:
    return end.join(change([",".join(f"{value:.5g}" for value in row) for row in ecg_csv()])).encode()


CSV_REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "unreadable or truncated: EmptyDataError"),
    "only blank lines": (b"\n\n", "unreadable or truncated: EmptyDataError"),
    "only a header": (b"I,II,III\n", "unreadable or truncated: ValueError"),
    "a header row": (lines(lambda rows: [",".join(LEADS), *rows[1:]]), "unreadable or truncated: ValueError"),
    "semicolons": (lines(lambda rows: [row.replace(",", ";") for row in rows]), "unreadable or truncated: ValueError"),
    "truncated": (lines(lambda rows: rows[:4321]), "not 5000 lines of 12 leads: 4321 of 12"),
    "one line more": (lines(lambda rows: [*rows, rows[0]]), "not 5000 lines of 12 leads: 5001 of 12"),
    "eleven leads": (lines(lambda rows: [row.rpartition(",")[0] for row in rows]), "not 5000 lines of 12 leads"),
    "a short line": (lines(lambda rows: [*rows[1:], "1,2,3"]), "NaN samples: lead aVR, aVL"),
    "a long line": (lines(lambda rows: [*rows[1:], rows[0] + ",1"]), "unreadable or truncated: ParserError"),
    "an empty cell": (lines(lambda rows: [*rows[1:], rows[0].replace("0,", ",", 1)]), "NaN samples: lead I"),
    "NaN": (lines(lambda rows: [*rows[1:], rows[0].replace("0,", "NaN,", 1)]), "NaN samples: lead I"),
    "infinite": (lines(lambda rows: [*rows[1:], rows[0].replace("0,", "-inf,", 1)]), "infinite samples: lead I"),
    "overflow": (lines(lambda rows: [*rows[1:], rows[0].replace("0,", "1e300,", 1)]), "infinite samples: lead I"),
    "all zero": (lines(lambda rows: [",".join("0" * 12)] * 5000), "all samples zero"),
    "one number": (b"0\n", "not 5000 lines of 12 leads: 1 of 1"),
    "NULs": (bytes(1000), ""),  # pandas 2 reads one line of it, pandas 3 none
    "Latin-1 text": ("Größe".encode("latin-1"), "unreadable or truncated: UnicodeDecodeError"),
}


@pytest.mark.parametrize("kind", CSV_REFUSED)
def test_a_damaged_csv_recording_is_refused(kind: str, tmp_path: Path) -> None:
    content, reason = CSV_REFUSED[kind]
    (tmp_path / "r.csv").write_bytes(content)
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
        read_csv_recording(tmp_path / "r.csv")


@pytest.mark.parametrize(
    "content", [lines(list), lines(list, "\r\n"), b"\xef\xbb\xbf" + lines(list)], ids=["plain", "CRLF", "BOM"]
)
def test_a_csv_recording_is_read_in_millivolts(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(content)
    recording = read_csv_recording(tmp_path / "r.csv")
    assert recording.fs == 500
    np.testing.assert_allclose(recording.signal, ecg_csv() / 1000, rtol=1e-4)


def figshare(root: Path, rows: list[tuple[object, ...]]) -> Dataset:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.save(root / "Diagnostics.xlsx")
    return Chapman(root)


def test_rows_of_diagnostics(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [
        ("FileName", "Rhythm", "Beat"),
        ("MUSE_1", "SB", "NONE"),
        ("MUSE_2", " AF ", "APB VPB AF"),
        ("MUSE_3", None, None),
        ("MUSE_4", "XYZ", None),
        ("../MUSE_5", "SB", None),
        ("MUSE_6", "SB", None),
        ("MUSE_6", "SR", None),
        (None, None, None),
    ]
    listing = figshare(tmp_path, rows).listing()
    assert [(entry.recording, entry.labels, entry.statements) for entry in listing.entries] == [
        ("MUSE_1", (0,), ("SB", "NONE")),
        ("MUSE_2", (1,), ("AF", "APB", "VPB")),
        ("MUSE_3", (), ()),
    ]
    assert dict(listing.skipped) == {
        "MUSE_4": "unknown rhythm: 'XYZ'",
        "../MUSE_5": "no identifier: '../MUSE_5'",
        "MUSE_6": "listed twice: 2 rows differ",
    }


def test_diagnostics_that_are_no_workbook(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has no column FileName, Rhythm"):
        figshare(tmp_path, []).listing()
    with pytest.raises(DatasetError, match="has no column Rhythm"):
        figshare(tmp_path, [("FileName", "Beat"), ("MUSE_1", "NONE")]).listing()
    (tmp_path / "Diagnostics.xlsx").write_bytes(b"PK not really")
    with pytest.raises(DatasetError, match=r"Diagnostics\.xlsx is no workbook"):
        Chapman(tmp_path).listing()


def test_real_recordings(shared_ecgs: Path) -> None:
    dataset = Ningbo(shared_ecgs / "chapman")
    listing = dataset.listing()
    assert (listing.form, len(listing.entries)) == ("WFDB_Ningbo", 33)
    codes = {entry.recording: entry.statements for entry in listing.entries}
    assert not codes.keys() & {entry.recording for entry in Chapman(shared_ecgs / "chapman").listing().entries}
    assert all(codes.values())
    assert dataset.read(listing.entries[0]).signal.shape[1] == 12


def test_ningbo_alone_is_no_chapman(tmp_path: Path) -> None:
    write_dataset("ningbo", tmp_path, CohortSettings(3))
    entries = Ningbo(tmp_path).listing().entries
    assert [entry.recording for entry in entries] == [f"JS{10647 + number}" for number in range(3)]
    assert all(entry.labels for entry in entries)
    with pytest.raises(DatasetError, match="Chapman: only recordings of Ningbo"):
        Chapman(tmp_path).listing()


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("WFDBRecords/02/020", "WFDBRecords"),
        ("ecg-arrhythmia-1.0.0/WFDBRecords/02/020", "WFDBRecords"),
        ("WFDB_Ningbo", "WFDB_Ningbo"),
        (".", "WFDB_Ningbo"),
        ("g1", "WFDB_Ningbo"),
    ],
)
def test_its_first_and_last_recording_are_known_in_every_form(tmp_path: Path, folder: str, form: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for number in (10646, 10647, 45551, 99999):
        (tmp_path / folder / f"JS{number}.hea").write_text(f"JS{number} 12 500 5000\n")
    listing = Ningbo(tmp_path).listing()
    assert (listing.form, listing.others) == (form, ())
    assert [entry.recording for entry in listing.entries] == ["JS10647", "JS45551", "JS99999"]


AS_COMPARED = "f2ca4800bde4d3dd0b4e283c883ccd03d04dc8a3df1fc2f161e3096c9f82a02d"
"""SHA-256 of the codes as they were compared with ConditionNames_SNOMED-CT.csv and the classes of MERL's files."""
SHARED = {"MIBW": "MI", "MIFW": "MI", "MILW": "MI", "MISW": "MI", "LBBBB": "LBBB", "LFBBB": "LBBB"}
OF_THE_CHALLENGE = {"427172004": "VPB", "733534002": "LBBB", "713427006": "RBBB"}


def test_codes_and_acronyms_are_those_of_the_release(shared_ecgs: Path) -> None:
    table = shared_ecgs / "chapman" / "ecg-arrhythmia-1.0.0" / "ConditionNames_SNOMED-CT.csv"
    rows = list(csv.DictReader(table.read_text("utf-8-sig").splitlines()))
    first = {row["Snomed_CT"]: row["AcronymName"] for row in reversed(rows)}
    released = {code: name for code, name in CONDITION_OF_CODE.items() if code not in OF_THE_CHALLENGE}
    assert released == {code: name for code, name in first.items() if name in CLASSES}
    for row in rows:
        assert CONDITION_OF_STATEMENT.get(row["AcronymName"]) == released.get(row["Snomed_CT"])


def test_codes_stay_as_they_were_compared() -> None:
    stated = " ".join(f"{code}:{name}" for code, name in CONDITION_OF_CODE.items())
    assert hashlib.sha256(stated.encode()).hexdigest() == AS_COMPARED


def test_every_class_has_a_code_and_is_its_own_acronym() -> None:
    assert len(CLASSES) == len(set(CLASSES)) == 38
    assert set(CONDITION_OF_CODE.values()) == set(CLASSES)
    assert CONDITION_OF_CODE | {name: name for name in CLASSES} | SHARED == CONDITION_OF_STATEMENT
    assert "426177001" not in CONDITION_OF_STATEMENT, "bradycardia is not among them"
