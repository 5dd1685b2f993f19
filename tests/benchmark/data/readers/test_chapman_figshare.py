"""Chapman as figshare has it: a workbook of diagnoses and CSV files in microvolt, right or refused with a reason."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from benchmark.data.readers.base import LEADS, Dataset, DatasetError, Unusable
from benchmark.data.readers.chapman import Chapman
from benchmark.data.readers.chapman_figshare import read_csv_recording


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


@pytest.mark.attack("recordings that are damaged or hostile")
@pytest.mark.parametrize("kind", CSV_REFUSED)
def test_a_damaged_csv_recording_is_refused(kind: str, tmp_path: Path) -> None:
    content, reason = CSV_REFUSED[kind]
    (tmp_path / "r.csv").write_bytes(content)
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
        read_csv_recording(tmp_path / "r.csv")


def test_a_csv_recording_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"^file missing: signal$"):
        read_csv_recording(tmp_path / "r.csv")
    os.mkfifo(tmp_path / "r.csv")
    with pytest.raises(Unusable, match=r"^unreadable file: not a regular file$"):
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


@pytest.mark.parametrize("folder", ["", "figshare"])
def test_people_are_those_of_the_workbook(tmp_path: Path, folder: str) -> None:
    book = openpyxl.Workbook()
    for row in (["FileName", "Rhythm", "PatientAge", "Gender"], ["M1", "SB", 85, "MALE"], ["M2", "SB", 150, "FEMALE"]):
        book.active.append(row)
    (tmp_path / folder).mkdir(exist_ok=True)
    book.save(tmp_path / folder / "Diagnostics.xlsx")
    assert Chapman(tmp_path).people() == {"M1": ("MALE", 85.0), "M2": ("FEMALE", None)}


@pytest.mark.parametrize("header", [[], ["FileName", "Gender"], ["Gender", "PatientAge"], ["FileName", "PatientAge"]])
def test_a_workbook_without_the_columns_states_nobody(tmp_path: Path, header: list[str]) -> None:
    book = openpyxl.Workbook()
    for row in (header, ["M1"] * len(header)):
        book.active.append(row)
    book.save(tmp_path / "Diagnostics.xlsx")
    assert Chapman(tmp_path).people() == {}


def test_no_workbook_and_a_damaged_one_state_nobody(tmp_path: Path) -> None:
    assert Chapman(tmp_path).people() == {}
    (tmp_path / "Diagnostics.xlsx").write_bytes(b"PK")
    assert Chapman(tmp_path).people() == {}
