"""One WFDB record: read as it was written and as wfdb reads it, or refused with the reason."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wfdb

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import (
    NO_GAIN,
    checked_recording,
    comments,
    diagnosis_codes,
    read_recording,
    read_samples,
    signal_files,
)

MakeECG = Callable[..., Any]
WriteRecord = Callable[..., Path]
MIMIC_ORDER = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")


NO_SUMS = (r"(/mV) .* (\S+)$", r"\1 \2")
"""Takes the checksums out of a header."""
HEADERS: dict[str, tuple[str, str, str]] = {
    "fewer samples": ("500 5000", "500 4000", "wrong checksum"),
    "signal line gone": (r"^.* V6\n", "", "damaged header: 11 signal lines, 12 stated"),
    "eleven of twelve": ("^r 12", "r 11", "wrong checksum"),
    "gain missing": (r" 1000\.0\(0\)/mV.*", "", "lead missing"),
    "unit unknown": (
        "/mV",
        "/mmHg",
        "unknown unit or none in the file; give signals.unit or signals.gain in the card: mmHg",
    ),
    "samples per frame": (r"\.dat 16", ".dat 16x4", "damaged header, or leads of several rates"),
    "skew": (r"\.dat 16", ".dat 16:3", "damaged header, or leads of several rates"),
    "segments": ("^r 12", "r/3 12", "damaged header, or several segments"),
    "format unknown": (r"\.dat 16", ".dat 99", "unreadable, truncated or not of its format"),
    "rate zero": (" 500 ", " 0 ", "sampling rate outside 50 to 10000 Hz: 0"),
    "gain as a power": (r"1000\.0\(0\)/mV", "1e3(0)/mV", ""),
    "gain without a unit": (r"1000\.0\(0\)/mV", "1000", ""),
    "micro as a sign": (r"1000\.0\(0\)/mV", "1/µV", ""),
    "nanovolts": (r"1000\.0\(0\)/mV", "0.001/nV", ""),
    "zero of the converter": (r"1000\.0\(0\)/mV 16", "1000/mV 16", ""),
    "CRLF": ("$", "\r", ""),
    "rate as a power": (" 500 ", " 5e2 ", ""),
    "a day that is none": ("500 5000", "500 5000 10:11:12 29/02/2181", ""),
    "a year alone": ("500 5000", "500 5000 2006", ""),
    "no length": ("500 5000", "500", ""),
    "length 0, which states none": ("500 5000", "500 0", ""),
    "a further line": (r"\Z", "r.dat 16 1000/mV 16 0 0 0 0 extra\n", ""),
    "no checksums": (*NO_SUMS, ""),
}
"""What is replaced by what in a header, and the reason for which the record is refused; '' where it is read."""
SAMPLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[:-24000], "truncated: 4000 of 5000 samples"),
    "one bit": (lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:], "wrong checksum"),
    "more bytes than stated": (lambda data: data + bytes(24), ""),
}


@pytest.mark.parametrize("kind", [*HEADERS, *SAMPLES])
def test_a_damaged_record_is_told_from_an_odd_one(
    kind: str, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    written = make_ecg()
    record = write_record(tmp_path / "Ordner mit ä" / "r", written)
    if kind in HEADERS:
        pattern, replacement, reason = HEADERS[kind]
        rewrite(record, pattern, replacement)
    else:
        change, reason = SAMPLES[kind]
        record.with_suffix(".dat").write_bytes(change(record.with_suffix(".dat").read_bytes()))
    if reason:
        with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
            read_recording(record)
    else:
        recording = read_recording(record)
        assert recording.fs == 500
        np.testing.assert_allclose(recording.signal, written, atol=0.0006)  # half a step of 1/1000 mV


@pytest.mark.parametrize("status", ["{} 16 0 16 0 0 0 0 status", "{} 16", "{} 16 1(-2147483648)/bit 16 0 0 0 0 x"])
@pytest.mark.parametrize("name", ["r.dat", "r.v2.dat", "r.DAT"])
def test_only_leads_are_needed_of_a_record(
    status: str, name: str, tmp_path: Path, make_ecg: MakeECG, write_record: WriteRecord
) -> None:
    record, written = write_record(tmp_path / "r", make_ecg()), make_ecg()
    steps = np.fromfile(tmp_path / "r.dat", "<i2").reshape(-1, 12)
    (tmp_path / "r.dat").unlink()
    np.pad(steps, ((0, 0), (0, 1))).tofile(tmp_path / name)
    rewrite(record, r"r\.dat", name if name != "r.DAT" else "r.dat")
    rewrite(record, "^r 12", "r 13")
    lines = record.with_suffix(".hea").read_text().splitlines()
    lines.insert(13, status.format(lines[12].split()[0]))
    header = record.with_suffix(".HEA" if name == "r.DAT" else ".hea")
    record.with_suffix(".hea").unlink()
    header.write_text("\n".join(lines))
    assert signal_files(record) == (tmp_path / name,)
    np.testing.assert_allclose(read_recording(record).signal, written, atol=0.0006)
    assert not read_samples(record).doubts


def test_a_lead_without_a_gain_has_200_steps_per_millivolt_which_is_said(tmp_path, make_ecg, write_record) -> None:
    record = write_record(tmp_path / "r", make_ecg())
    rewrite(record, r"1000\.0\(0\)/mV(.* V6)$", r"0\1")
    content = read_samples(record)
    np.testing.assert_allclose(content.signal[:, -1], 5 * make_ecg()[:, -1], atol=0.003)
    assert content.doubts == (NO_GAIN,)


def test_floats_in_format_32_have_baselines_of_ten_digits(tmp_path, make_ecg) -> None:
    wfdb.wrsamp("r", 500, ["mV"] * 12, [*LEADS], make_ecg() - 0.01, fmt=["32"] * 12, write_dir=str(tmp_path))
    (tmp_path / "r.dat").rename(tmp_path / "r.v2.dat")
    rewrite(tmp_path / "r", r"r\.dat", "r.v2.dat")
    np.testing.assert_allclose(read_recording(tmp_path / "r").signal, make_ecg() - 0.01, atol=1e-6)


@pytest.mark.parametrize("suffix", [".hea", ".dat"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "^Git LFS pointer .*; git lfs pull$"),
        (b"\r\n<!DOCTYPE HTML><title>Sign in</title>\n", "^web page, .*; download it again$"),
        (gzip.compress(b"r 12 500 5000"), "^file compressed by gzip; gunzip it$"),
        (b"", "^empty file; copy it again$"),
    ],
    ids=["pointer", "page", "gzip", "empty"],
)
def test_what_lies_in_the_place_of_a_file_is_named(
    suffix: str, content: bytes, reason: str, tmp_path, make_ecg, write_record
) -> None:
    record = write_record(tmp_path / "r", make_ecg())
    record.with_suffix(suffix).write_bytes(content)
    with pytest.raises(Unusable, match=reason):
        read_recording(record)


def test_a_file_that_is_missing_is_refused(tmp_path, make_ecg, write_record) -> None:
    record = write_record(tmp_path / "r", make_ecg(), mat=True)
    assert read_recording(record).signal.shape == (5000, 12)
    data = record.with_suffix(".mat")
    assert signal_files(record) == (data,)
    for file, what in ((data, "signal"), (record.with_suffix(".hea"), "header r.hea")):
        file.unlink()
        with pytest.raises(Unusable, match=f"^file missing: {what}$"):
            read_recording(record)


def rewrite(record: Path, pattern: str, replacement: str) -> None:
    """Replace a regular expression in a header."""
    header = record.with_suffix(".hea")
    text, times = re.subn(pattern, replacement, header.read_text(), flags=re.MULTILINE)
    assert times, f"{pattern} is not in the header"
    header.write_text(text, encoding="utf-8", newline="")


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


@pytest.mark.parametrize("fmt", ["80", "212", "516"])
def test_other_formats_are_read_by_wfdb_whatever_the_start_is(tmp_path: Path, make_ecg: MakeECG, fmt: str) -> None:
    steps = np.rint(100 * make_ecg()).astype(np.int64)
    steps -= steps[0]
    for name, samples in (("r", steps), ("s", -steps)):
        wfdb.wrsamp(
            name, fs=500, units=["mV"] * 12, sig_name=list(LEADS), d_signal=samples // (4 if fmt == "80" else 1),
            fmt=[fmt] * 12, adc_gain=[100.0] * 12, baseline=[0] * 12, write_dir=str(tmp_path),
        )  # fmt: skip
        theirs = wfdb.rdrecord(str(tmp_path / name)).p_signal.astype(np.float32)
        rewrite(tmp_path / name, "500 5000", "500 5000 10:11:12 29/02/2181")
        np.testing.assert_array_equal(read_recording(tmp_path / name).signal, theirs)
    rewrite(tmp_path / "r", r" (-?\d+) 0 V6", " 1 0 V6")
    with pytest.raises(Unusable, match=r"^wrong checksum$"):
        read_recording(tmp_path / "r")


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("#Dx: 59118001,164934002", ("59118001", "164934002")),
        ("# Dx: AF; RBBB", ("AF", "RBBB")),
        ("#Rx: Dx", ()),
        ("#dX: AF \n#x: Dx\nDx: no\n# DX: SR", ("AF", "SR")),
        ("#Dx: 窦性心律", ("窦性心律",)),
        ("#Dx: Größe", ("Größe",)),  # Latin-1
    ],
)
def test_diagnosis_codes_in_every_spelling(tmp_path, line, codes):
    text = f"r 12 500 5000\n#Age: 74\n{line}\n#Sx: Unknown\n"
    (tmp_path / "r.hea").write_text(text, encoding="latin-1" if "ö" in line else "utf-8")
    assert diagnosis_codes(tmp_path / "r") == codes
    assert comments(tmp_path / "r", "age") == ("74",)


def test_a_recording_needs_one_lead_that_varies() -> None:
    signal = np.full((500, 12), 0.5)
    for values, reason in ((signal, "all leads constant"), (0 * signal, "all samples zero")):
        with pytest.raises(Unusable, match=f"^{reason}$"):
            checked_recording(values, 500)
    for value, reason in ((np.nan, "NaN samples: lead I$"), (-1e10, "infinite samples: lead I$")):
        with pytest.raises(Unusable, match=reason):
            checked_recording(np.concatenate([signal, [[value, *[0.0] * 11]]]), 500)
    assert checked_recording(-0.6 * np.eye(500, 12), 500).signal[2, 2] == np.float32(-0.6)
