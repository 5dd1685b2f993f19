"""One WFDB record: what is read is what was written, and what is damaged is refused with its reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from benchmark.data.readers.base import LEADS, Unusable
from benchmark.data.readers.files.wfdb_record import (
    comments,
    diagnosis_codes,
    lead_columns,
    read_recording,
    read_samples,
    record_files,
    signal_files,
)

MIMIC_ORDER = ("I", "II", "III", "aVR", "aVF", "aVL", "V1", "V2", "V3", "V4", "V5", "V6")


def refusal(record: Path) -> str:
    with pytest.raises(Unusable) as caught:
        read_recording(record)
    return str(caught.value)


@pytest.mark.parametrize("mat", [False, True])
def test_the_signal_comes_back_in_millivolts(tmp_path, make_ecg, write_record, mat):
    written = make_ecg()
    recording = read_recording(write_record(tmp_path / "r", written, mat=mat))
    assert recording.fs == 500
    assert recording.signal.dtype == np.float32
    np.testing.assert_allclose(recording.signal, written, atol=0.0006)  # half a step of 1/1000 mV


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


@pytest.mark.parametrize("gain", ["9e-7", "1.1e9", "0"])
def test_a_gain_beyond_any_ecg_is_refused(tmp_path, make_ecg, write_record, gain):
    record = write_record(tmp_path / "r", make_ecg())
    header = record.with_suffix(".hea")
    header.write_text(header.read_text().replace("1000.0(0)", f"{gain}(0)"))
    assert refusal(record) == f"gain is none or no ECG's: {gain}"


def test_one_flat_lead_stands_and_a_flat_recording_does_not(tmp_path, make_ecg, write_record):
    written = make_ecg()
    written[:, 3] = 0
    assert not read_recording(write_record(tmp_path / "one", written)).signal[:, 3].any()
    assert refusal(write_record(tmp_path / "all", 0 * written)) == "all samples zero"
    assert refusal(write_record(tmp_path / "constant", 0 * written + 1.5)) == "all leads constant"


def test_nan_is_refused_with_its_lead(tmp_path, make_ecg, write_record):
    written = make_ecg()
    written[7, 6] = np.nan
    assert refusal(write_record(tmp_path / "r", written)) == "NaN samples: lead V1"


def test_a_missing_lead_is_named(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg()[:, :11], leads=LEADS[:11])
    assert refusal(record) == "lead missing: V6"


def test_an_unknown_unit_is_named(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg())
    header = record.with_suffix(".hea")
    header.write_text(header.read_text().replace("/mV", "/bananas"))
    assert refusal(record) == "unknown unit: bananas"


def test_missing_files_are_told_apart(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg())
    record.with_suffix(".dat").unlink()
    assert refusal(record) == "file missing: signal"
    assert refusal(tmp_path / "nothing") == "file missing: header"


def test_a_truncated_signal_is_refused(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg())
    data = record.with_suffix(".dat")
    data.write_bytes(data.read_bytes()[:-1000])
    assert refusal(record).startswith("unreadable or truncated")


def test_one_changed_bit_is_a_wrong_checksum(tmp_path, make_ecg, write_record):
    record = write_record(tmp_path / "r", make_ecg())
    data = bytearray(record.with_suffix(".dat").read_bytes())
    data[5000] ^= 1
    record.with_suffix(".dat").write_bytes(data)
    assert refusal(record) == "wrong checksum"


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


def test_a_header_that_is_no_header_is_refused(tmp_path):
    (tmp_path / "r.hea").write_text("<html>404</html>")
    assert refusal(tmp_path / "r") == "damaged header: first line '<html>404</html>'"


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("#Dx: 59118001,164934002", ("59118001", "164934002")),
        ("# Dx: AF, RBBB", ("AF", "RBBB")),
        ("#Dx:", ()),
        ("#Rx: Dx", ()),
    ],
)
def test_diagnosis_codes_in_every_spelling(tmp_path, line, codes):
    (tmp_path / "r.hea").write_text(f"r 12 500 5000\n#Age: 74\n{line}\n#Sx: Unknown\n")
    assert diagnosis_codes(tmp_path / "r") == codes


def test_comments_by_name(tmp_path):
    (tmp_path / "r.hea").write_text("r 12 500 5000\n#Rhythm: sinus, fast\n#x: Rhythm\n# RHYTHM: AF \nRhythm: no\n")
    assert comments(tmp_path / "r", "rhythm") == ("sinus, fast", "AF")
    assert comments(tmp_path / "r", "Dx") == ()


def test_record_files_keep_dots_in_names(tmp_path):
    assert [path.name for path in record_files(tmp_path / "a.b", ".dat")] == ["a.b.hea", "a.b.dat"]


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
