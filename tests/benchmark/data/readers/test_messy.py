"""Damaged and odd signal files: each is read right or refused with its reason, and none stops its dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from benchmark.data.prepared.prepare import prepare
from benchmark.data.prepared.skipped import skip_summary
from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.chapman_figshare import read_csv_recording
from benchmark.data.readers.cpsc2018_struct import read_struct
from benchmark.data.readers.files.wfdb_record import read_recording
from benchmark.data.readers.ptb_xl import PTBXL

Mutate = Callable[[Path], None]
MakeECG = Callable[..., Any]
WriteRecord = Callable[..., Path]


def in_header(pattern: str, replacement: str, count: int = 0) -> Mutate:
    """A header with a regular expression replaced in it."""

    def mutate(record: Path) -> None:
        header = record.with_suffix(".hea")
        text, found = re.subn(pattern, replacement, header.read_text(), count=count, flags=re.MULTILINE)
        assert found, f"{pattern} is not in the header"
        header.write_bytes(text.encode("latin-1"))

    return mutate


def in_samples(change: Callable[[bytes], bytes]) -> Mutate:
    def mutate(record: Path) -> None:
        data = record.with_suffix(".dat")
        data.write_bytes(change(data.read_bytes()))

    return mutate


def without_sums(*mutations: Mutate) -> Mutate:
    """Further damage to a record that states no checksums."""

    def mutate(record: Path) -> None:
        in_header(r"(/mV) .* (\S+)$", r"\1 \2")(record)
        for further in mutations:
            further(record)

    return mutate


def instead(suffix: str, make: Mutate) -> Mutate:
    """Something else in place of one of the record's files."""

    def mutate(record: Path) -> None:
        path = record.with_suffix(suffix)
        path.unlink()
        make(path)

    return mutate


REFUSED: dict[str, tuple[Mutate, str]] = {
    "truncated samples": (in_samples(lambda data: data[:-1000]), "unreadable or truncated: ValueError"),
    "odd number of bytes": (in_samples(lambda data: data[:-1]), "unreadable or truncated: ValueError"),
    "no samples": (in_samples(lambda data: b""), "unreadable or truncated: ValueError"),
    "one bit": (in_samples(lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:]), "wrong checksum"),
    "header says fewer samples": (in_header("500 5000", "500 4000"), "wrong checksum"),
    "header says more samples": (in_header("500 5000", "500 6000"), "unreadable or truncated"),
    "header says no samples": (in_header("500 5000", "500 0"), "no samples"),
    "header says no signals": (in_header(r"^r 12( .*\n)(.*\n)*", r"r 0\1"), "no samples"),
    "a billion samples": (in_header("500 5000", "500 5000000000"), "longer than 3600 s"),
    "signals not counted": (in_header("^r 12", "r 11"), "damaged header: 12 signal lines, 11 stated"),
    "signal line gone": (in_header(r"^.* V6\n", ""), "damaged header: 11 signal lines, 12 stated"),
    "one signal less": (in_header(r"^.* V6\n|^r 12", "", 2), "damaged header: first line"),
    "eleven of twelve": (in_header(r"^r 12((.*\n)*)r.* V6\n", r"r 11\1"), "wrong checksum"),
    "eleven, no sums": (
        without_sums(in_header(r"^r 12((.*\n)*)r.* V6\n", r"r 11\1")),
        "length differs from the header: 120000 bytes",
    ),
    "fewer samples, no sums": (without_sums(in_header("500 5000", "500 4000")), "length differs from the header"),
    "gain zero": (in_header(r"1000\.0\(0\)/mV", "0/mV", 1), "gain is none or no ECG's: 0"),
    "gain missing": (in_header(r" 1000\.0\(0\)/mV.*", ""), "damaged header: signal line"),
    "gain negative": (in_header(r"1000\.0\(0\)", "-1000(0)"), "damaged header: signal line"),
    "gain no number": (in_header(r"1000\.0\(0\)", "nan"), "damaged header: signal line"),
    "gain next to nothing": (in_header(r"1000\.0\(0\)", "1e-300(0)"), "gain is none or no ECG's: 1e-300"),
    "gain infinite": (in_header(r"1000\.0\(0\)", "1e999(0)"), "gain is none or no ECG's: 1e999"),
    "unit unknown": (in_header("/mV", "/mmHg"), "unknown unit: mmHg"),
    "unit not ASCII": (in_header("/mV", "/µV"), "damaged header: signal line"),
    "two formats": (in_header(r"\.dat 16", ".dat 80", 1), "damaged header: one file in two formats"),
    "samples per frame": (in_header(r"\.dat 16", ".dat 16x4"), "damaged header: signal line"),
    "format unknown": (in_header(r"\.dat 16", ".dat 99"), "unreadable or truncated"),
    "rate zero": (in_header(" 500 ", " 0 "), "sampling rate outside 50 to 10000 Hz: 0"),
    "rate negative": (in_header(" 500 ", " -500 "), "damaged header: first line"),
    "rate missing": (in_header("^r 12 .*", "r 12"), "damaged header: first line"),
    "rate absurd": (in_header(" 500 ", " 500000 "), "sampling rate outside 50 to 10000 Hz: 500000"),
    "lead unnamed": (in_header(" V6$", ""), "lead missing: V6"),
    "lead twice": (in_header(" V6$", " v5"), "lead missing: V6"),
    "lead not ASCII": (in_header(" V6$", " éV6"), "damaged header: signal line"),
    "multi-segment": (in_header("^r 12", "r/3 12"), "damaged header: first line"),
    "another's samples": (in_header(r"^r\.dat", "s.dat"), "header names another file: s.dat"),
    "samples outside": (in_header(r"^r\.dat", "../r.dat"), "damaged header: signal line"),
    "samples in a cloud": (in_header(r"^r\.dat", "s3://b/r.dat"), "damaged header: signal line"),
    "header empty": (instead(".hea", Path.touch), "damaged header: empty"),
    "header of NULs": (instead(".hea", lambda path: void(path.write_bytes(bytes(99)))), "damaged header: first line"),
    "header a web page": (instead(".hea", lambda path: void(path.write_text("<html>"))), "damaged header: first line"),
    "header a folder": (instead(".hea", Path.mkdir), "unreadable file: not a regular file"),
    "header a pipe": (instead(".hea", os.mkfifo), "unreadable file: not a regular file"),
    "header of 3 GB": (instead(".hea", lambda path: of_size(path, 3 * 10**9)), "unreadable file: larger than 1 MiB"),
    "header a loop": (instead(".hea", lambda path: path.symlink_to(path)), "unreadable file: Too many levels"),
    "header gone": (instead(".hea", lambda path: None), "file missing: header"),
    "samples a folder": (instead(".dat", Path.mkdir), "unreadable file: not a regular file"),
    "samples a pipe": (instead(".dat", os.mkfifo), "unreadable file: not a regular file"),
    "samples of 3 GB": (
        instead(".dat", lambda path: of_size(path, 3 * 10**9)),
        "unreadable file: larger than 1024 MiB",
    ),
    "samples a loop": (instead(".dat", lambda path: path.symlink_to(path)), "unreadable file: Too many levels"),
    "samples gone": (instead(".dat", lambda path: None), "file missing: signal"),
}


def of_size(path: Path, size: int) -> None:
    """A file with a hole, which takes no room."""
    path.touch()
    os.truncate(path, size)


def void(_: object) -> None:
    """For a lambda whose value is not wanted."""


@pytest.mark.attack("recordings that are damaged or hostile")
@pytest.mark.parametrize("kind", REFUSED)
def test_a_damaged_record_is_refused_with_its_reason(
    kind: str, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    mutate, reason = REFUSED[kind]
    record = write_record(tmp_path / "r", make_ecg())
    mutate(record)
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
        read_recording(record)


SAME: dict[str, Mutate] = {
    "upper-case leads": in_header(" (aV.|V.)$", lambda match: match[0].upper()),  # type: ignore[arg-type]
    "one sample per frame": in_header(r"\.dat 16", ".dat 16x1"),
    "gain in lower case": in_header(r"1000\.0\(0\)/mV", "1000/mv"),
    "gain as a power": in_header(r"1000\.0\(0\)/mV", "1e3(0)/mV"),
    "gain without a unit": in_header(r"1000\.0\(0\)/mV", "1000"),
    "CRLF": in_header("$", "\r"),
    "blank lines and blanks": in_header("^", "\n  "),
    "Latin-1 comment": in_header(r"\Z", "# Größe: 1,80 m \xc3\x85\n"),
    "record named with its suffix": in_header("^r 12", "r.mat 12"),
    "date and time": in_header("500 5000", "500 5000 08:44:00 23/07/2180"),
    "no checksums": without_sums(),
    "more bytes than stated": in_samples(lambda data: data + bytes(24)),
}


@pytest.mark.parametrize("kind", SAME)
def test_an_odd_record_is_read_right(kind: str, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord) -> None:
    written = make_ecg()
    record = write_record(tmp_path / "Ordner mit ä" / "r", written)
    SAME[kind](record)
    recording = read_recording(record)
    assert recording.fs == 500
    np.testing.assert_allclose(recording.signal, written, atol=0.0006)  # half a step of 1/1000 mV


@pytest.mark.parametrize("fs", [100, 250, 257, 360, 400, 500, 1000])
@pytest.mark.parametrize("seconds", [2, 60])
def test_every_rate_and_length_is_read(
    fs: int, seconds: float, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    recording = read_recording(write_record(tmp_path / "r", make_ecg(seconds, fs), fs=fs, mat=True))
    assert (recording.fs, recording.signal.shape) == (fs, (seconds * fs, 12))


def test_thirty_minutes_are_read_and_a_holter_is_not(
    tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    assert read_recording(write_record(tmp_path / "r", make_ecg(1800, 100), fs=100)).signal.shape == (180_000, 12)
    with pytest.raises(Unusable, match="longer than 3600 s: 3610"):
        read_recording(write_record(tmp_path / "s", make_ecg(3610, 100), fs=100))


def test_twelve_of_fifteen_leads_are_taken_and_eight_are_too_few(
    tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    written = make_ecg()
    fifteen = np.concatenate([written[:, ::-1], written[:, :3]], axis=1)  # (n, 15)
    recording = read_recording(write_record(tmp_path / "r", fifteen, leads=(*LEADS[::-1], "vx", "vy", "vz")))
    np.testing.assert_allclose(recording.signal, written, atol=0.0006)
    eight = (*LEADS[:2], *LEADS[6:])
    with pytest.raises(Unusable, match=r"^lead missing: III, aVR, aVL, aVF$"):
        read_recording(write_record(tmp_path / "s", written[:, :8], leads=eight))
    with pytest.raises(Unusable, match=r"^lead twice: I$"):
        read_recording(write_record(tmp_path / "t", fifteen, leads=(*LEADS[::-1], "i", "vy", "vz")))


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


@pytest.mark.parametrize(
    "content", [lines(list), lines(list, "\r\n"), b"\xef\xbb\xbf" + lines(list)], ids=["plain", "CRLF", "BOM"]
)
def test_a_csv_recording_is_read_in_millivolts(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(content)
    recording = read_csv_recording(tmp_path / "r.csv")
    assert recording.fs == 500
    np.testing.assert_allclose(recording.signal, ecg_csv() / 1000, rtol=1e-4)


STRUCT_REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: cut(path), "unreadable or truncated"),
    "empty": (Path.touch, "unreadable or truncated"),
    "text": (lambda path: path.write_text("404: not found"), "unreadable or truncated"),
    "folder": (Path.mkdir, "unreadable file: not a regular file"),
    "a pipe": (os.mkfifo, "unreadable file: not a regular file"),
    "of 3 GB": (lambda path: of_size(path, 3 * 10**9), "unreadable file: larger than 1024 MiB"),
    "missing": (lambda path: None, "file missing: signal"),
    "no struct": (lambda path: scipy.io.savemat(path, {"val": ecg_csv()}), "unreadable or truncated: KeyError"),
    "eight leads": (lambda path: save(path, ecg_csv().T[:8]), "not 12 leads: data of shape (8, 5000)"),
    "NaN": (lambda path: save(path, np.full((12, 5000), np.nan)), "NaN samples: lead I, II"),
    "all zero": (lambda path: save(path, np.zeros((12, 5000))), "all samples zero"),
    "no samples": (lambda path: save(path, np.zeros((12, 0))), "no samples"),
}


def save(path: Path, data: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    scipy.io.savemat(path, {"ECG": {"sex": "Male", "age": 52, "data": data}})


def cut(path: Path) -> None:
    save(path, ecg_csv().T)
    path.write_bytes(path.read_bytes()[:3000])


@pytest.mark.attack("recordings that are damaged or hostile")
@pytest.mark.parametrize("kind", STRUCT_REFUSED)
def test_a_damaged_struct_is_refused(kind: str, tmp_path: Path) -> None:
    make, reason = STRUCT_REFUSED[kind]
    make(tmp_path / "A0001.mat")
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
        read_struct(tmp_path / "A0001.mat")


def test_a_file_without_permission_is_refused(
    tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated, for a superuser may read everything."""

    def forbid(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    record = write_record(tmp_path / "r", make_ecg())
    monkeypatch.setattr(Path, "read_bytes", forbid)
    with pytest.raises(Unusable, match=r"^unreadable file: Permission denied$"):
        read_recording(record)


@pytest.mark.attack("recordings that are damaged or hostile")
def test_no_hostile_recording_stops_a_dataset(tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord) -> None:
    kinds = [None, *REFUSED]
    (tmp_path / "scp_statements.csv").write_text(",diagnostic,diagnostic_class\nNORM,1.0,NORM\n")
    rows = ["ecg_id,patient_id,scp_codes,report,strat_fold,filename_lr,filename_hr"]
    for number, kind in enumerate(kinds, start=1):
        record = write_record(tmp_path / "records500" / str(number) / "r", make_ecg())
        if kind:
            REFUSED[kind][0](record)
        rows.append(f"{number},{number},{{'NORM': 100.0}},,{1 + number % 10},no,records500/{number}/r")
    (tmp_path / "ptbxl_database.csv").write_text("\n".join(rows))
    prepared = prepare(PTBXL(tmp_path), tmp_path / "cache", workers=1)
    assert [entry.recording for entry in prepared.entries] == ["1"]
    assert {skip.recording for skip in prepared.skipped} == {str(number) for number in range(2, len(kinds) + 1)}
    assert sum(skip_summary(prepared.skipped).values()) == len(REFUSED)
