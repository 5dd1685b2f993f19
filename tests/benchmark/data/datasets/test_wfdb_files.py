"""One WFDB record: read as it was written and as wfdb reads it, or refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import (
    check_extent,
    checked_recording,
    comments,
    diagnosis_codes,
    read_recording,
    read_samples,
    signal_files,
)

Mutate = Callable[[Path], None]
MakeECG = Callable[..., Any]
WriteRecord = Callable[..., Path]
MIMIC_ORDER = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")


def in_header(pattern: str, replacement: str, count: int = 0) -> Mutate:
    """A header with a regular expression replaced in it."""

    def mutate(record: Path) -> None:
        header = record.with_suffix(".hea")
        text, times = re.subn(pattern, replacement, header.read_text(), count=count, flags=re.MULTILINE)
        assert times, f"{pattern} is not in the header"
        header.write_text(text, encoding="utf-8", newline="")

    return mutate


def in_samples(change: Callable[[bytes], bytes]) -> Mutate:
    def mutate(record: Path) -> None:
        data = record.with_suffix(".dat")
        data.write_bytes(change(data.read_bytes()))

    return mutate


def add_bytes(path: Path, more: bytes) -> None:
    path.write_bytes(path.read_bytes() + more)


def without_sums(*mutations: Mutate) -> Mutate:
    """Further damage to a record that states no checksums."""

    def mutate(record: Path) -> None:
        for further in (in_header(r"(/mV) .* (\S+)$", r"\1 \2"), *mutations):
            further(record)

    return mutate


REFUSED: dict[str, tuple[Mutate, str]] = {
    "truncated samples": (in_samples(lambda data: data[:-24000]), "truncated: 4000 of 5000 samples"),
    "one bit": (in_samples(lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:]), "wrong checksum"),
    "header says fewer samples": (in_header("500 5000", "500 4000"), "wrong checksum"),
    "header says no samples": (in_header("500 5000", "500 0"), "no samples"),
    "signal line gone": (in_header(r"^.* V6\n", ""), "damaged header: 11 signal lines, 12 stated"),
    "eleven of twelve": (in_header("^r 12", "r 11"), "wrong checksum"),
    "fewer samples, no sums": (without_sums(in_header("500 5000", "500 4000")), "length differs from the header"),
    "gain zero": (in_header(r"1000\.0\(0\)/mV", "0/mV", 1), "gain is 0"),
    "gain missing": (in_header(r" 1000\.0\(0\)/mV.*", ""), "damaged header: signal line"),
    "unit unknown": (in_header("/mV", "/mmHg"), "unknown unit: mmHg"),
    "samples per frame": (in_header(r"\.dat 16", ".dat 16x4"), "leads of several rates, or"),
    "skew": (in_header(r"\.dat 16", ".dat 16:3"), "leads of several rates, or"),
    "segments": (in_header("^r 12", "r/3 12"), "records of several segments are not read"),
    "format unknown": (in_header(r"\.dat 16", ".dat 99"), "unreadable or truncated"),
    "rate zero": (in_header(" 500 ", " 0 "), "sampling rate outside 50 to 10000 Hz: 0"),
    "another's header": (in_header("^r 12", "s 12"), "header names another recording: s"),
    "another's samples": (in_header(r"^r\.dat", "r2.dat"), "header names another file: r2.dat"),
    "header gone": (lambda record: record.with_suffix(".hea").unlink(), "file missing: header"),
    "samples gone": (lambda record: record.with_suffix(".dat").unlink(), "file missing: signal"),
}


SAME: dict[str, Mutate] = {
    "gain as a power": in_header(r"1000\.0\(0\)/mV", "1e3(0)/mV"),
    "gain without a unit": in_header(r"1000\.0\(0\)/mV", "1000"),
    "micro as a sign": in_header(r"1000\.0\(0\)/mV", "1/µV"),
    "nanovolts": in_header(r"1000\.0\(0\)/mV", "0.001/nV"),
    "zero of the converter": in_header(r"1000\.0\(0\)/mV 16", "1000/mV 16"),
    "CRLF": in_header("$", "\r"),
    "rate as a power": in_header(" 500 ", " 5e2 "),
    "a day that is none": in_header("500 5000", "500 5000 10:11:12 29/02/2181"),
    "a year alone": in_header("500 5000", "500 5000 2006"),
    "no length": in_header("500 5000", "500"),
    "a further line": in_header(r"\Z", "r.dat 16 1000/mV 16 0 0 0 0 extra\n"),
    "no checksums": without_sums(),
    "more bytes than stated": in_samples(lambda data: data + bytes(24)),
    "Latin-1 comment": lambda record: add_bytes(record.with_suffix(".hea"), "# Größe\n".encode("latin-1")),
}


@pytest.mark.parametrize("kind", [*REFUSED, *SAME])
def test_a_damaged_record_is_refused_and_an_odd_one_read_right(
    kind: str, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    written = make_ecg()
    record = write_record(tmp_path / "Ordner mit ä" / "r", written)
    mutate, reason = REFUSED[kind] if kind in REFUSED else (SAME[kind], "")
    mutate(record)
    if reason:
        with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
            read_recording(record)
    else:
        recording = read_recording(record)
        assert recording.fs == 500
        np.testing.assert_allclose(recording.signal, written, atol=0.0006)  # half a step of 1/1000 mV


@pytest.mark.parametrize("leads", [MIMIC_ORDER, tuple(lead.upper() for lead in LEADS), (*LEADS[::-1], "vx", "vy")])
def test_leads_are_ordered_by_name_whatever_their_case(tmp_path, make_ecg, write_record, leads):
    written = make_ecg()
    columns = [[lead.upper() for lead in (*LEADS, "vx", "vy")].index(lead.upper()) % 12 for lead in leads]
    recording = read_recording(write_record(tmp_path / "r", written[:, columns], leads=leads))
    np.testing.assert_allclose(recording.signal, written, atol=0.0006)


def test_a_lead_that_is_missing_or_twice_is_named(tmp_path, make_ecg, write_record):
    written = make_ecg()
    with pytest.raises(Unusable, match=r"^lead missing: III, aVR, aVL, aVF$"):
        read_recording(write_record(tmp_path / "s", written[:, :8], leads=(*LEADS[:2], *LEADS[6:])))
    thirteen = np.concatenate([written, written[:, :1]], axis=1)  # (n, 13)
    with pytest.raises(Unusable, match=r"^lead twice: I$"):
        read_recording(write_record(tmp_path / "t", thirteen, leads=(*LEADS, "i")))


PLAIN = """r 2 500 3
r.dat 16 200.0(0)/mV 16 0 1 6 0 I
r.dat 16 1000(-5)/uV 16 7 -4 32764 0 II lead"""
STEPS = np.array([[1, -4], [2, -32768], [3, 0]], "<i2")


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("1000(-5)/uV 16 7", "1000/uV 16 7"),  # without a baseline, the zero of the converter stands for it
        ("500 3", "500.5/100(7) 3"),
        ("-4 32764", "-4 -32772"),  # sums count to 65536
    ],
)
def test_samples_are_those_of_wfdb(tmp_path: Path, change: tuple[str, str]) -> None:
    (tmp_path / "r.hea").write_text(PLAIN.replace(*change))
    (tmp_path / "r.dat").write_bytes(STEPS.tobytes())
    ours, theirs = read_samples(tmp_path / "r"), wfdb.rdrecord(str(tmp_path / "r"), physical=False)
    np.testing.assert_array_equal(ours.signal, theirs.dac())
    assert np.isnan(ours.signal).sum() == 1
    assert (ours.leads, ours.units, ours.fs) == (theirs.sig_name, theirs.units, theirs.fs)


@pytest.mark.parametrize("fmt", ["80", "212", "24", "516"])
def test_other_formats_are_read_by_wfdb_whatever_the_start_is(tmp_path: Path, make_ecg: MakeECG, fmt: str) -> None:
    steps = np.rint(100 * make_ecg()).astype(np.int64)
    steps -= steps[0]
    for name, samples in (("r", steps), ("s", -steps)):
        wfdb.wrsamp(
            name, fs=500, units=["mV"] * 12, sig_name=list(LEADS), d_signal=samples // (4 if fmt == "80" else 1),
            fmt=[fmt] * 12, adc_gain=[100.0] * 12, baseline=[0] * 12, write_dir=str(tmp_path),
        )  # fmt: skip
        theirs = wfdb.rdrecord(str(tmp_path / name)).p_signal.astype(np.float32)
        in_header("500 5000", "500 5000 10:11:12 29/02/2181")(tmp_path / name)
        np.testing.assert_array_equal(read_recording(tmp_path / name).signal, theirs)
    in_header(r" (-?\d+) 0 V6", " 1 0 V6")(tmp_path / "r")
    with pytest.raises(Unusable, match=r"^wrong checksum$"):
        read_recording(tmp_path / "r")


def test_bytes_ahead_of_the_samples_count_where_no_checksum_is_stated(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg(), mat=True)
    without_sums()(record)
    assert read_recording(record).signal.shape == (5000, 12)
    assert signal_files(record) == (record.with_suffix(".mat"),)
    add_bytes(record.with_suffix(".mat"), bytes(24))
    with pytest.raises(Unusable, match=r"^length differs from the header: 120048 bytes$"):
        read_recording(record)


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("#Dx: 59118001,164934002", ("59118001", "164934002")),
        ("# Dx: AF; RBBB", ("AF", "RBBB")),
        ("#Rx: Dx", ()),
        ("#dX: AF \n#x: Dx\nDx: no\n # Dx: no\n# DX: SR", ("AF", "SR")),
        ("#Dx: 窦性心律", ("窦性心律",)),
    ],
)
def test_diagnosis_codes_in_every_spelling(tmp_path, line, codes):
    (tmp_path / "r.hea").write_text(f"r 12 500 5000\n#Age: 74\n{line}\n#Sx: Unknown\n", encoding="utf-8")
    assert diagnosis_codes(tmp_path / "r") == codes
    assert comments(tmp_path / "r", "age") == ("74",)


@pytest.mark.parametrize("folder", ["ptb-xl/records500", "cpsc2018/Training_WFDB", "chapman/ecg-arrhythmia-1.0.0"])
def test_real_records_are_read_as_wfdb_reads_them(shared_ecgs: Path, folder: str) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[:5]
    assert headers
    for header in headers:
        ours, theirs = read_recording(header.with_suffix("")), wfdb.rdrecord(str(header.with_suffix("")))
        assert ours.fs == theirs.fs
        assert [name.upper() for name in theirs.sig_name] == [lead.upper() for lead in LEADS]
        np.testing.assert_array_equal(ours.signal, theirs.p_signal.astype(np.float32))


@pytest.mark.parametrize(
    ("samples", "fs", "reason"),
    [
        (1, 50, ""),
        (3600 * 100, 100, ""),
        (500, 49.9, "sampling rate outside 50 to 10000 Hz: 49.9"),
        (500, 10_001, "sampling rate outside 50 to 10000 Hz: 10001"),
        (0, 500, "no samples"),
        (3600 * 100 + 1, 100, "longer than 3600 s: 3600"),
    ],
)
def test_rates_and_durations_beyond_the_bounds_are_refused(samples: int, fs: float, reason: str) -> None:
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}$") if reason else nullcontext():
        check_extent(samples, fs)


def test_a_recording_needs_one_lead_that_varies() -> None:
    signal = np.full((500, 12), 0.5)
    for values, reason in ((signal, "all leads constant"), (0 * signal, "all samples zero")):
        with pytest.raises(Unusable, match=f"^{reason}$"):
            checked_recording(values, 500)
    for value, reason in ((np.nan, "NaN samples: lead I$"), (-1e10, "infinite samples: lead I$")):
        with pytest.raises(Unusable, match=reason):
            checked_recording(np.concatenate([signal, [[value, *[0.0] * 11]]]), 500)
    assert checked_recording(-0.6 * np.eye(500, 12), 500).signal[2, 2] == np.float32(-0.6)
