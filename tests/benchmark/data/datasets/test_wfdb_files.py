"""One WFDB record: what is read is what was written, and what is damaged is refused with its reason.

The quick reading of plain records: to the same samples as wfdb, and only where wfdb would read them too.

The bounds of a usable signal: sampling rate, duration, amplitude.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import wfdb

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import (
    check_extent,
    checked_recording,
    diagnosis_codes,
    lead_columns,
    read_plain,
    read_recording,
    read_samples,
    signal_files,
)

MIMIC_ORDER = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")


@pytest.mark.parametrize("leads", [MIMIC_ORDER, tuple(lead.upper() for lead in LEADS), LEADS[::-1]])
def test_leads_are_ordered_by_name_whatever_their_case(tmp_path, make_ecg, write_record, leads):
    written = make_ecg()
    columns = [[lead.upper() for lead in LEADS].index(lead.upper()) for lead in leads]
    recording = read_recording(write_record(tmp_path / "r", written[:, columns], leads=leads))
    np.testing.assert_allclose(recording.signal, written, atol=0.0006)


@pytest.mark.parametrize(
    ("gain", "factor"),
    [
        ("1000.0(0)/uV", 1e-3),
        ("1000/mv", 1),
        ("200.0(0)/mV", 5),
        ("1000/V", 1e3),
        ("1e-6(0)/nV", 1e3),  # the smallest gain and the largest
        ("1e9(0)/V", 1e-3),
    ],
)
def test_gain_and_unit_of_the_header_count(tmp_path, make_ecg, write_record, gain, factor):
    written = make_ecg()
    record = write_record(tmp_path / "r", written)
    header = record.with_suffix(".hea")
    header.write_text(header.read_text().replace("1000.0(0)/mV", gain))
    np.testing.assert_allclose(read_recording(record).signal, factor * written, atol=0.0006 * factor)


@pytest.mark.parametrize("name", ["r", "r.mat"])
def test_a_record_of_one_lead_is_read_in_its_unit(tmp_path, make_ecg, write_record, name):
    written = make_ecg()[:, :1]
    record = write_record(tmp_path / "r", written, leads=("MLII",), mat=name == "r.mat")
    header = record.with_suffix(".hea")
    header.write_text(header.read_text().replace("r 1 ", f"{name} 1 ", 1))
    samples = read_samples(record)
    assert (samples.leads, samples.units, samples.fs) == (["MLII"], ["mV"], 500)
    np.testing.assert_allclose(samples.signal, written, atol=0.0006)
    (file,) = signal_files(record)
    file.unlink()
    with pytest.raises(Unusable, match=r"^file missing: signal$"):
        read_samples(record)


def test_the_files_of_the_signal_lines_are_told_once_each(tmp_path):
    (tmp_path / "r.hea").write_text(
        "# r.dat\nr 4 500\n\nr.dat 16 I\n  r.dat 16 II\n #s.dat\nr.mat 16 V1\n../q.dat 16\n"
    )
    assert signal_files(tmp_path / "r") == (tmp_path / "r.dat", tmp_path / "r.mat")


@pytest.mark.parametrize("times", [2, 3])
def test_a_lead_that_is_there_more_than_once_is_named(times):
    assert lead_columns([None, *LEADS[::-1]]) == list(range(12, 0, -1))
    with pytest.raises(Unusable, match=r"^lead twice: aVF$"):
        lead_columns([*LEADS, *["avf"] * (times - 1)])


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("#Dx: 59118001,164934002", ("59118001", "164934002")),
        ("# Dx: AF, RBBB", ("AF", "RBBB")),
        ("#Dx:", ()),
        ("#Rx: Dx", ()),
        ("#dX: AF \n#x: Dx\nDx: no\n # Dx: no\n# DX: SR", ("AF", "SR")),
    ],
)
def test_diagnosis_codes_in_every_spelling(tmp_path, line, codes):
    (tmp_path / "r.hea").write_text(f"r 12 500 5000\n#Age: 74\n{line}\n#Sx: Unknown\n")
    assert diagnosis_codes(tmp_path / "r") == codes


@pytest.mark.parametrize(
    "record",
    [
        "ptb-xl/records100/00000/00001_lr",
        "ptb-xl/records500/00000/00001_hr",
        "cpsc2018/Training_WFDB/A0001",
        "cpsc2018/WFDB_CPSC2018/A0001",
        "chapman/ecg-arrhythmia-1.0.0/WFDBRecords/01/010/JS00002",
        "chapman/WFDB_ChapmanShaoxing/JS00010",
        "chapman/WFDB_Ningbo/JS45546",
    ],
)
def test_real_records_read_as_wfdb_reads_them(shared_ecgs: Path, record: str):
    theirs = wfdb.rdrecord(str(shared_ecgs / record))
    ours = read_recording(shared_ecgs / record)
    assert ours.fs == theirs.fs
    assert [name.upper() for name in theirs.sig_name] == [lead.upper() for lead in LEADS]
    np.testing.assert_array_equal(ours.signal, theirs.p_signal.astype(np.float32))


def test_real_recordings_with_flat_leads_are_read(shared_ecgs: Path):
    headers = sorted((shared_ecgs / "chapman" / "WFDB_Ningbo").glob("*.hea"))
    signals = [read_recording(header.with_suffix("")).signal for header in headers]
    assert sum((signal == 0).all(axis=0).any() for signal in signals) == 3


PLAIN = """r 2 500 3
r.dat 16 200.0(0)/mV 16 0 1 6 0 I
r.dat 16 1000(-5)/uV 16 7 -4 32764 0 II"""
SAMPLES = np.array([[1, -4], [2, -32768], [3, 0]], "<i2")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def write_files(header: str) -> Path:
        (tmp_path / "r.hea").write_text(header)
        (tmp_path / "r.dat").write_bytes(SAMPLES.tobytes())
        return tmp_path / "r"

    return write_files


@pytest.mark.parametrize(
    "change",
    [
        ("", ""),
        ("200.0(0)", "200"),
        ("1000(-5)/uV 16 7", "1000/uV 16 7"),  # without a baseline, the zero of the converter stands for it
        ("dat 16 ", "dat 16+0 "),
        ("500 3", "500 3 14:55:00 19/11/2185"),
        ("500 3", "500 3 05-Feb-2020 11:39:16"),
        ("500 3", "500 2"),  # a longer file; sums of all three samples are wrong for two
        ("1 6 0", "1 3 0"),
        ("-4 32764", "-4 -32772"),  # sums count to 65536
    ],
)
def test_plain_samples_are_those_of_wfdb(write: Callable[[str], Path], change: tuple[str, str]) -> None:
    record = write(PLAIN.replace(*change))
    plain = read_plain(record, record.with_suffix(".hea").read_text().splitlines())
    theirs = wfdb.rdrecord(str(record), physical=False)
    sums_hold = all((a - b) % 65536 == 0 for a, b in zip(theirs.checksum, theirs.calc_checksum(), strict=True))
    assert (plain is not None) == sums_hold
    if plain is not None:
        np.testing.assert_array_equal(plain.signal, theirs.dac())
        assert (plain.leads, plain.units, plain.fs) == (theirs.sig_name, theirs.units, theirs.fs)


def test_one_lead_alone_is_read(write: Callable[[str], Path]) -> None:
    header = "r 1 500 6\nr.dat 16 1000(0)/mV 16 0 1 32770 0 I"  # 1 - 4 + 2 - 32768 + 3 + 0 = -32766
    plain = read_plain(write(header), header.splitlines())
    assert plain is not None
    np.testing.assert_array_equal(plain.signal, [[0.001], [-0.004], [0.002], [np.nan], [0.003], [0.0]])


@pytest.mark.parametrize(
    "change",
    [
        ("dat 16 200", "dat 212 200"),  # another format
        ("r.dat 16 1000", "s.dat 16 1000"),  # two files
        ("dat 16 200", "dat 16+2 200"),  # two places in one file
        ("200.0(0)", "0(0)"),  # a gain that is not stated
        ("200.0(0)", "0.0(0)"),
        ("500 3", "0 3"),
        ("500 3", "500 0"),
        ("500 3", "500.5 3"),
        ("r 2 500 3", "r 2 500"),  # no length
        ("500 3", "500 4"),  # longer than the file
        ("500 3", "500 3 25:00:00 19/11/2185"),
        ("500 3", "500 3 14:55:00 31/02/2185"),
        ("500 3", "500 3 noon"),
        (" 32764 0 II", ""),  # no checksum
        ("II", "II lead"),
        ("/mV", ""),
        ("1 6 0", "1 5 0"),  # a wrong checksum
    ],
)
def test_whatever_else_a_record_is_is_left_to_wfdb(write: Callable[[str], Path], change: tuple[str, str]) -> None:
    text = PLAIN.replace(*change)
    assert text != PLAIN
    assert read_plain(write(text), text.splitlines()) is None


@pytest.mark.parametrize(
    "folder",
    ["ptb-xl/records100", "ptb-xl/records500", "cpsc2018/Training_WFDB", "chapman/ecg-arrhythmia-1.0.0"],
)
def test_published_records_are_plain(shared_ecgs: Path, folder: str) -> None:
    headers = sorted((shared_ecgs / folder).rglob("*.hea"))[:5]
    assert headers
    for path in headers:
        record = path.with_suffix("")
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
        plain, theirs = read_plain(record, lines), wfdb.rdrecord(str(record))
        assert plain is not None, record
        np.testing.assert_array_equal(plain.signal, theirs.p_signal)
        assert (plain.leads, plain.units, plain.fs) == (theirs.sig_name, theirs.units, theirs.fs)


def test_a_recording_is_laid_out_alike_by_both(
    tmp_path: Path, make_ecg: Callable[..., np.ndarray], write_record: Callable[..., Path]
) -> None:
    """Sums over samples depend on the order in memory in their last bits."""
    record = write_record(tmp_path / "r", make_ecg())
    plain = read_recording(record).signal
    path = record.with_suffix(".hea")
    path.write_text(path.read_text().replace(" V6", "  V6"))
    assert read_plain(record, path.read_text().splitlines()) is None
    by_wfdb = read_recording(record).signal
    np.testing.assert_array_equal(plain, by_wfdb)
    assert plain.strides == by_wfdb.strides
    assert plain.shape[1] == len(LEADS)


@pytest.mark.parametrize(
    ("samples", "fs", "reason"),
    [
        *((samples, fs, "") for samples, fs in ((1, 50), (1, 10_000), (3600 * 100, 100))),
        (500, 49.9, "sampling rate outside 50 to 10000 Hz: 49.9"),
        (500, 10_001, "sampling rate outside 50 to 10000 Hz: 10001"),
        (0, 500, "no samples"),
        (3600 * 100 + 1, 100, "longer than 3600 s: 3600"),
    ],
)
def test_rates_and_durations_beyond_the_bounds_are_refused(samples: int, fs: float, reason: str) -> None:
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}$") if reason else nullcontext():
        check_extent(samples, fs)


def test_amplitudes_that_no_unit_explains_count_as_infinite() -> None:
    signal = np.ones((500, 12)) * np.linspace(0, 1, 500)[:, None]
    signal[7, 2] = -0.99e9
    assert checked_recording(signal, 500).signal[7, 2] == np.float32(-0.99e9)
    for value in (1e9, -1e9, 1.5e9, np.inf):
        signal[7, 2] = value
        with pytest.raises(Unusable, match=r"^infinite samples: lead III$"):
            checked_recording(signal, 500)


def test_a_recording_needs_one_lead_that_varies() -> None:
    signal = np.full((500, 12), 0.5)
    with pytest.raises(Unusable, match=r"^all leads constant$"):
        checked_recording(signal, 500)
    with pytest.raises(Unusable, match=r"^all samples zero$"):
        checked_recording(0 * signal, 500)
    signal[0, 11] = 0.6
    assert checked_recording(signal, 500).fs == 500
    for peak in (0.6, -0.6):
        assert checked_recording(peak * np.eye(500, 12), 500).signal[2, 2] == np.float32(peak)
