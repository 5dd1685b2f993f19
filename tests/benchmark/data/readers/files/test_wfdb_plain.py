"""The quick reading of plain records: to the same samples as wfdb, and only where wfdb would read them too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import wfdb

from benchmark.data.readers.base import LEADS
from benchmark.data.readers.files.wfdb_plain import read_plain
from benchmark.data.readers.files.wfdb_record import read_recording

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


def test_a_missing_file_is_left_to_wfdb(tmp_path: Path) -> None:
    assert read_plain(tmp_path / "r", PLAIN.splitlines()) is None


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
