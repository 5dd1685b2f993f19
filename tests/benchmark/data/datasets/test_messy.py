"""Damaged and odd WFDB records: each is read right or refused with its reason, and none stops its dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import read_recording

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
    "no samples": (in_samples(lambda data: b""), "unreadable or truncated: ValueError"),
    "one bit": (in_samples(lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:]), "wrong checksum"),
    "header says fewer samples": (in_header("500 5000", "500 4000"), "wrong checksum"),
    "header says more samples": (in_header("500 5000", "500 6000"), "unreadable or truncated"),
    "header says no samples": (in_header("500 5000", "500 0"), "no samples"),
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
    "unit unknown": (in_header("/mV", "/mmHg"), "unknown unit: mmHg"),
    "unit not ASCII": (in_header("/mV", "/µV"), "damaged header: signal line"),
    "two formats": (in_header(r"\.dat 16", ".dat 80", 1), "damaged header: one file in two formats"),
    "two places in one file": (in_header(r"\.dat 16", ".dat 16+24", 1), "damaged header: one file in two formats"),
    "samples per frame": (in_header(r"\.dat 16", ".dat 16x4"), "damaged header: signal line"),
    "format unknown": (in_header(r"\.dat 16", ".dat 99"), "unreadable or truncated"),
    "rate zero": (in_header(" 500 ", " 0 "), "sampling rate outside 50 to 10000 Hz: 0"),
    "rate missing": (in_header("^r 12 .*", "r 12"), "damaged header: first line"),
    "rate absurd": (in_header(" 500 ", " 500000 "), "sampling rate outside 50 to 10000 Hz: 500000"),
    "lead unnamed": (in_header(" V6$", ""), "lead missing: V6"),
    "lead twice": (in_header(" V6$", " v5"), "lead missing: V6"),
    "lead not ASCII": (in_header(" V6$", " éV6"), "damaged header: signal line"),
    "another's header": (in_header("^r 12", "s 12"), "header names another recording: s"),
    "gain too small": (in_header(r"1000\.0\(0\)", "9e-7(0)"), "gain is none or no ECG's: 9e-7"),
    "gain too large": (in_header(r"1000\.0\(0\)", "1.1e9(0)"), "gain is none or no ECG's: 1.1e9"),
    "multi-segment": (in_header("^r 12", "r/3 12"), "damaged header: first line"),
    "another's samples": (in_header(r"^r\.dat", "s.dat"), "header names another file: s.dat"),
    "samples outside": (in_header(r"^r\.dat", "../r.dat"), "damaged header: signal line"),
    "header empty": (instead(".hea", Path.touch), "damaged header: empty"),
    "header a web page": (instead(".hea", lambda path: void(path.write_text("<html>"))), "damaged header: first line"),
    "header gone": (instead(".hea", lambda path: None), "file missing: header"),
    "samples of 3 GB": (
        instead(".dat", lambda path: of_size(path, 3 * 10**9)),
        "unreadable file: larger than 1024 MiB",
    ),
    "samples gone": (instead(".dat", lambda path: None), "file missing: signal"),
}


def of_size(path: Path, size: int) -> None:
    """A file with a hole, which takes no room."""
    path.touch()
    os.truncate(path, size)


def void(_: object) -> None:
    """For a lambda whose value is not wanted."""


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
    "checksums below zero": in_header(r"(\d+) 0 (\S+)$", lambda match: f"{int(match[1]) - 65536}  0 {match[2]}"),  # type: ignore[arg-type]
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


def test_bytes_ahead_of_the_samples_count_where_no_checksum_is_stated(
    tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    record = write_record(tmp_path / "r", make_ecg(), mat=True)
    without_sums()(record)
    assert read_recording(record).signal.shape == (5000, 12)
    with open(record.with_suffix(".mat"), "ab") as file:
        file.write(bytes(24))
    with pytest.raises(Unusable, match=r"^length differs from the header: 120048 bytes$"):
        read_recording(record)


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
