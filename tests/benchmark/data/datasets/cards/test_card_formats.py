"""Own signals: the same samples in every form of file, and the reason where a file and a card do not fit together."""

from __future__ import annotations

import base64
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.data.datasets.base import LEADS, DatasetError, Recording, Unusable
from benchmark.data.datasets.card_formats import READERS, CardSignals, read_content, to_recording
from benchmark.data.datasets.wfdb_files import Samples

FS = 500
NAMES = list(LEADS)


@pytest.fixture
def ecg(make_ecg: Callable[..., Any]) -> Any:
    """(n, 12) in mV whose limb leads obey the laws: III = II - I, aVR = -(I + II) / 2 and so on."""
    ecg = make_ecg(seconds=2.0)
    one, two = ecg[:, 0], ecg[:, 1]
    ecg[:, 2:6] = np.stack([two - one, -(one + two) / 2, one - two / 2, two - one / 2], axis=1)
    return ecg[: np.flatnonzero(ecg.any(axis=1))[-1] + 1]


def read(path: Path, **card: Any) -> Recording:
    given = {"files": f"{{recording}}{path.suffix}", "rate": FS, "unit": "mV", **card}
    signals = CardSignals.model_validate({name: value for name, value in given.items() if value is not None})
    return to_recording(read_content(path, None, signals), signals)


def refusal(path: Path, **card: Any) -> str:
    with pytest.raises(Unusable) as caught:
        read(path, **card)
    return str(caught.value)


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def test_every_form_gives_the_same_recording(tmp_path: Path, ecg: Any) -> None:
    h5py = pytest.importorskip("h5py")
    header = ";".join(["time", *reversed(LEADS)])
    timed = np.column_stack([np.arange(len(ecg)), ecg[:, ::-1]])
    np.savetxt(tmp_path / "named.csv", timed, "%.18g", ";", header=header, comments="")
    np.savetxt(tmp_path / "plain.csv", ecg, "%.18g", ",")
    np.savez(tmp_path / "r.npz", ecg=ecg, fs=FS, age=np.array([[61.0]] * 3))
    np.savez(tmp_path / "one.npz", times=np.arange(len(ecg)), ecg=ecg, fs=FS)
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["x/ecg"], file["beats"] = ecg.T, np.arange(5)
        file.attrs["fs"] = np.array([FS])
    recordings = [
        read(tmp_path / "named.csv"),
        read(tmp_path / "plain.csv", leads=NAMES),
        read(saved(tmp_path / "r.npy", ecg), leads=NAMES),
        read(saved(tmp_path / "t.npy", ecg.T[None]), leads=NAMES),
        read(saved(tmp_path / "b.npy", ecg[:, ::-1]), leads=NAMES[::-1]),
        read(saved(tmp_path / "w.npy", np.column_stack([ecg[:, :1], ecg])), leads=["-", *NAMES]),
        read(tmp_path / "r.npz", leads=NAMES, rate=None, rate_name="fs", array="ecg"),
        read(tmp_path / "one.npz", leads=NAMES),
        read(tmp_path / "r.h5", leads=NAMES, rate=None, rate_name="fs"),
    ]
    for recording in recordings:
        assert recording.fs == FS
        np.testing.assert_array_equal(recording.signal, ecg.astype(np.float32))
    for card, factor in (({"unit": "uV"}, 1e-3), ({"unit": "V"}, 1e3), ({"unit": None, "gain": 200}, 1 / 200)):
        signal = read(tmp_path / "r.npy", leads=NAMES, **card).signal
        np.testing.assert_array_equal(signal, (ecg * factor).astype(np.float32))


def stated(folder: Path, ecg: Any, form: str, *, fs: float) -> Path:
    """A file that says a rate beside its samples."""
    times = np.arange(len(ecg)) / fs
    if form in ("time_s", "Time (ms)", "t_us"):
        scale = {"time_s": 1, "Time (ms)": 1e3, "t_us": 1e6}[form]
        columns = np.column_stack([np.round(times, 3) * scale, ecg])
        np.savetxt(folder / "r.csv", columns, "%.18g", ",", header=",".join([form, *LEADS]), comments="")
        return folder / "r.csv"
    if form.startswith("#"):
        np.savetxt(folder / "r.csv", ecg, "%.18g", ",", header=f"{form}: {fs} Hz\n{','.join(LEADS)}", comments="")
        return folder / "r.csv"
    values = {"time": times, "dt": np.array([1 / fs]), "sample_interval_ms": np.array([1e3 / fs])}
    entry = {form: values.get(form, np.array([fs]))}
    np.savez(folder / "r.npz", ecg=ecg, **entry)
    return folder / "r.npz"


@pytest.mark.parametrize(
    "form",
    [
        "time_s",
        "Time (ms)",
        "t_us",
        "time",
        "fs",
        "sampling_rate",
        "Freq_Hz",
        "dt",
        "sample_interval_ms",
        "# Sampling rate (Hz)",
    ],
)
def test_a_rate_that_a_file_states_is_compared_with_the_card(tmp_path: Path, ecg: Any, form: str) -> None:
    path = stated(tmp_path, ecg, form, fs=250)
    reason = refusal(path, leads=NAMES if path.suffix == ".npz" else None)
    assert reason.startswith("sampling rate contradicts the card")
    assert "500 Hz says the card, 250 Hz" in reason
    assert form.strip("# ") in reason
    for rate in (250, None):
        recording = read(path, rate=rate, leads=NAMES if path.suffix == ".npz" else None)
        assert recording.fs == pytest.approx(250, rel=1e-3)


def test_a_rate_in_an_attribute_is_compared(tmp_path: Path, ecg: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["ecg"] = ecg
        file["ecg"].attrs["sampling_frequency"] = 250
    assert "250 Hz says sampling_frequency" in refusal(tmp_path / "r.h5", leads=NAMES)


def test_the_rate_of_each_row_of_a_stack_is_compared(tmp_path: Path, ecg: Any) -> None:
    np.savez(tmp_path / "s.npz", ecg=np.stack([ecg, ecg]), fs=[500, 250])
    card = CardSignals(files="s.npz", rate=500, unit="mV", leads=NAMES, stacked=True)
    assert to_recording(read_content(tmp_path / "s.npz", 0, card), card).fs == 500
    with pytest.raises(Unusable, match="250 Hz says fs"):
        to_recording(read_content(tmp_path / "s.npz", 1, card), card)


def test_times_with_a_hole_or_that_do_not_rise_are_no_recording(tmp_path: Path, ecg: Any) -> None:
    times = np.arange(len(ecg)) / FS
    for wrong in (times + 3 * (times > 1), np.zeros(len(ecg)), np.where(times > 1, np.nan, times)):
        np.savez(tmp_path / "r.npz", ecg=ecg, time=wrong)
        assert refusal(tmp_path / "r.npz", leads=NAMES).startswith("gaps in the recording, or times")


def test_names_of_leads_beside_an_array_are_compared(tmp_path: Path, ecg: Any) -> None:
    np.savez(tmp_path / "r.npz", ecg=ecg, lead_names=np.array(NAMES[::-1]))
    assert refusal(tmp_path / "r.npz", leads=NAMES).startswith("names of the columns contradict signals.leads")
    read(tmp_path / "r.npz", leads=NAMES[::-1])


UNIT, GAIN = "unit contradicts the card; ", "unit contradicts the card; leave out signals.unit and gain: 200 steps per "


@pytest.mark.parametrize(
    ("entries", "scale", "wrong", "reason"),
    [
        ({"units": "uV"}, 1e-3, {"unit": "mV"}, UNIT),
        ({"sig_units": ["uV"] * 12}, 1e-3, {"gain": 200}, UNIT),
        ({"adc_gain": 200}, 1 / 200, {"unit": "uV"}, f"{GAIN}mV"),
        ({"gain": [200.0] * 12, "unit": b"uV"}, 1e-3 / 200, {"gain": 200}, f"{GAIN}uV"),
    ],
)
def test_a_unit_beside_an_array_is_compared_with_the_card(
    tmp_path: Path, ecg: Any, entries: dict[str, Any], scale: float, wrong: dict[str, Any], reason: str
) -> None:
    steps = np.rint(1000 * ecg)
    np.savez(tmp_path / "r.npz", ecg=steps, **entries)
    np.testing.assert_allclose(read(tmp_path / "r.npz", leads=NAMES, unit=None).signal, scale * steps, rtol=1e-6)
    read(tmp_path / "r.npz", leads=NAMES, unit=None, gain=1 / scale)
    assert refusal(tmp_path / "r.npz", leads=NAMES, **{"unit": None, **wrong}).startswith(reason)
    np.savez(tmp_path / "r.npz", ecg=ecg, gain=200)
    read(tmp_path / "r.npz", leads=NAMES, unit="mV")  # no steps


def test_a_unit_in_characters_of_matlab_is_read(tmp_path: Path, ecg: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["ecg"], file["units"] = ecg, np.array([[117], [86]], np.uint16)
        file["units"].attrs["MATLAB_class"] = np.bytes_("char")
    assert refusal(tmp_path / "r.h5", leads=NAMES, unit="mV", array="ecg").endswith(": uV")


@pytest.mark.parametrize("form", ["{} (uV)", "{} [uV]", "{}_uV", "{}/µV"])
def test_a_unit_in_the_names_of_columns_is_compared_with_the_card(tmp_path: Path, ecg: Any, form: str) -> None:
    names = [form.format(lead) for lead in LEADS]
    pd.DataFrame(1000 * ecg, columns=names).to_csv(tmp_path / "r.csv", index=False)
    for card in ({"unit": None}, {"unit": "uV"}, {"leads": dict(zip(names, LEADS, strict=True)), "unit": "uV"}):
        np.testing.assert_allclose(read(tmp_path / "r.csv", **card).signal, ecg, rtol=1e-6, atol=1e-9)
    assert refusal(tmp_path / "r.csv", unit="mV").startswith(UNIT)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.uint16])
def test_the_lowest_integer_is_no_sample(tmp_path: Path, ecg: Any, kind: Any) -> None:
    counts = np.rint(1000 * ecg).astype(kind)
    counts[100:120, 7] = np.iinfo(kind).min
    path = saved(tmp_path / "r.npy", counts)
    if kind is np.uint16:
        read(path, leads=NAMES, unit=None, gain=1000)
    else:
        assert refusal(path, leads=NAMES, unit=None, gain=1000) == "NaN samples: lead V2"


@pytest.mark.parametrize("array", [{"ecg": np.zeros((9, 12)), "fs": 500}, np.array([[1], [1, 2]], object)])
def test_python_objects_are_named(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "r.npy", array, allow_pickle=True)
    np.savez(tmp_path / "r.npz", ecg=array, allow_pickle=True)
    for suffix in (".npy", ".npz"):
        assert refusal(tmp_path / f"r{suffix}", leads=NAMES).startswith("array of Python objects")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ImportError("no", name="ecgdatakit"), DatasetError, r"r\.edf needs a package .*; pip install 'ecgdatakit>=2"),
        (PermissionError(13, "Permission denied"), DatasetError, r"r\.edf cannot be read: Permission denied"),
        (OSError(5, "Input/output error"), DatasetError, r"cannot be read: Input/output error"),
        (OSError("required filter 'lz4' is not registered"), DatasetError, "plugin: pip install hdf5plugin"),
        (OSError("truncated file: eof = 96"), Unusable, "not of its format; copy it again: truncated file"),
        (FileNotFoundError(2, "no"), Unusable, "file missing: signal"),
        (MemoryError(), MemoryError, "^$"),
    ],
)
def test_only_what_the_bytes_say_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception], message: str
) -> None:
    def fail(*_: Any) -> Samples:
        raise error

    monkeypatch.setitem(READERS, "export", fail)
    with pytest.raises(kind, match=message):
        read_content(tmp_path / "r.edf", None, CardSignals(files="r.edf"))


@pytest.mark.parametrize(
    ("message", "doubts"),
    [
        ("EDF+D file has gaps between data records", "gaps in the recording"),
        ("MFER: frame 2 starts at 9; frames are concatenated without a gap", "gaps in the recording"),
        ("CRC32 mismatch in lead I", "unreadable, truncated"),
        ("Additional median waveform ignored in r.xml", []),
        ("FirstSampleBaseline is non-zero", ["a warning of its reader: FirstSampleBaseline is non-zero"]),
    ],
)
def test_a_reader_s_warning_is_a_reason_or_a_doubt(
    tmp_path: Path, ecg: Any, monkeypatch: pytest.MonkeyPatch, message: str, doubts: str | list[str]
) -> None:
    def warn(*_: Any) -> Samples:
        warnings.warn(message, stacklevel=1)
        return Samples(ecg, NAMES, MV, FS)

    monkeypatch.setitem(READERS, "export", warn)
    if isinstance(doubts, str):
        assert refusal(tmp_path / "r.edf").startswith(doubts)
    else:
        assert [*read(tmp_path / "r.edf").doubts] == doubts


def write_edf(path: Path, microvolts: Any, onsets: list[int], kind: str) -> None:
    """EDF+ of twelve leads in records of a second, which begin at the given seconds: the header, then each record."""
    note = 20  # samples of the signal that holds the times of the records
    labels, samples = [*LEADS, "EDF Annotations"], [FS] * 12 + [note]

    def fields(width: int, *values: object) -> bytes:
        return b"".join(str(value).ljust(width).encode() for value in values)

    content = fields(8, 0) + fields(80, "X X X X", "Startdate 01-JAN-2020 X X X")
    content += (
        fields(8, "01.01.20", "10.00.00", 256 * 14) + fields(44, kind) + fields(8, len(onsets), 1) + fields(4, 13)
    )
    content += fields(16, *labels) + fields(80, *[""] * 13) + fields(8, *["uV"] * 12, "")
    for limit in (-32768, 32767):
        content += fields(8, *[limit] * 12, limit // 32767)  # physical
    content += fields(8, *[-32768] * 13, *[32767] * 13) + fields(80, *[""] * 13)  # digital, filters
    content += fields(8, *samples) + fields(32, *[""] * 13)
    for onset, second in zip(onsets, np.split(microvolts.astype("<i2"), len(onsets)), strict=True):
        content += second.T.tobytes() + f"+{onset}\x14\x14\0".encode().ljust(2 * note, b"\0")
    path.write_bytes(content)


def test_edf_with_a_pause_is_refused(tmp_path: Path, ecg: Any) -> None:
    pytest.importorskip("ecgdatakit")
    microvolts = np.rint(1000 * ecg)
    for onsets, kind in (([0, 1], "EDF+C"), ([0, 1], "EDF+D"), ([0, 21], "EDF+D")):
        write_edf(tmp_path / "r.edf", microvolts, onsets, kind)
        if onsets == [0, 1]:
            signal = read(tmp_path / "r.edf", rate=None, unit=None).signal
            np.testing.assert_allclose(signal, microvolts / 1000, atol=1e-6)
        else:
            assert refusal(tmp_path / "r.edf", rate=None, unit=None).startswith("gaps in the recording")


MV = ["mV"] * 12
CODES = [f"MDC_ECG_LEAD_{lead.upper()}" for lead in LEADS]


@pytest.mark.parametrize(
    ("leads", "units", "card", "message"),
    [
        (NAMES, ["NU"] * 12, {}, "unknown unit or none in the file; give signals.unit or signals.gain in the card: NU"),
        (NAMES, [*MV[:11], ""], {}, "unknown unit or none in the file"),
        (NAMES, MV, {"unit": "uV"}, "unit contradicts the card; leave out signals.unit and gain: mV"),
        (NAMES, MV, {"gain": 1000}, "unit contradicts the card; leave out signals.unit and gain: mV"),
        (NAMES, MV, {"rate": 250}, "sampling rate contradicts the card; correct signals.rate: 500 Hz"),
        (CODES, MV, {}, "lead missing; name the file's leads in signals.leads: I, II, III"),
        (NAMES, MV, {"leads": ["II", "I", *LEADS[2:]]}, "names of the columns contradict signals.leads"),
        (["II", "III", *"abcd", *LEADS[6:]], MV, {"derive": True}, "lead missing; name the file's leads"),
        ([*LEADS[:8], "x", *LEADS[9:]], MV, {"derive": True}, "lead missing; name the file's leads"),
    ],
)
def test_what_contradicts_a_card_is_refused(
    ecg: Any, leads: list[str], units: list[str], card: dict[str, Any], message: str
) -> None:
    with pytest.raises(Unusable) as caught:
        to_recording(Samples(ecg, leads, units, FS), CardSignals(files="{recording}.hea", **card))
    assert str(caught.value).startswith(message)


def test_names_in_a_file_are_mapped(ecg: Any) -> None:
    expected = ecg.astype(np.float32)
    card, counts = CardSignals(files="*.hea"), CardSignals(files="*.hea", gain=200)
    mixed = Samples(ecg * ([1] * 6 + [1e3] * 6), NAMES, ["mV"] * 6 + ["UV"] * 6, FS)
    np.testing.assert_allclose(to_recording(mixed, card).signal, expected, rtol=1e-6)
    steps = to_recording(Samples(ecg * 200, NAMES, ["adu"] * 12, FS), counts)
    np.testing.assert_allclose(steps.signal, expected, rtol=1e-6)
    named = CardSignals.model_validate({"files": "*.hea", "leads": dict(zip(CODES, LEADS, strict=True))})
    np.testing.assert_array_equal(to_recording(Samples(ecg, CODES, MV, FS), named).signal, expected)


@pytest.mark.parametrize("missing", [["III", "aVR", "aVL", "aVF"], ["aVR", "aVF"]])
def test_two_limb_leads_determine_the_others(ecg: Any, missing: list[str]) -> None:
    names = [*LEADS[6:], *(lead for lead in LEADS[:6] if lead not in missing)]
    columns = [LEADS.index(name) for name in names]
    content = Samples(ecg[:, columns], names, ["mV"] * len(names), FS)
    result = to_recording(content, CardSignals(files="*.hea", derive=True)).signal
    np.testing.assert_allclose(result, ecg, atol=1e-6)
    np.testing.assert_array_equal(result[:, columns], ecg[:, columns].astype(np.float32))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I,II\n0.5,2\n-1,1e1\n", ["I", "II"]),
        ("0.5,2\n-1,10\n", None),
        ("I;II;\n0,5;2;\n-1;10;\n", ["I", "II"]),
        ("0.5,2,\n-1,10,\n", None),
        ('"I";"II"\r\n0,5;2\r\n-1;10\r\n', ["I", "II"]),
        ("\ufeffI,II\n0.5,2\n-1,10\n", ["I", "II"]),
        ("I,II\n1,x\n", "text among the numbers; write times as seconds, .*'x'"),
        ("", "empty file"),
        ("I,II\n1,2,3\n4,5,6\n", "not of its format; copy it again: .* line 2, saw 3"),
    ],
)
def test_text_files_hold_numbers_alone(tmp_path: Path, text: str, names: list[str] | str | None) -> None:
    (tmp_path / "r.csv").write_bytes(text.encode())
    card = CardSignals(files="r.csv")
    if isinstance(names, str):
        with pytest.raises(Unusable, match=names):
            read_content(tmp_path / "r.csv", None, card)
    else:
        stored = read_content(tmp_path / "r.csv", None, card)
        np.testing.assert_array_equal(stored.signal, [[0.5, 2.0], [-1.0, 10.0]])
        assert (stored.leads, stored.units, stored.fs) == (names or [], (), 0.0)


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_that_pandas_writes_as_names_are_no_samples(tmp_path: Path, ecg: Any, index: bool, first: int) -> None:
    table = pd.DataFrame(ecg, columns=range(first, first + 12))
    for header in (True, [f"x{number}" for number in range(12)]):
        table.to_csv(tmp_path / "r.csv", index=index, header=header)
        np.testing.assert_array_equal(read(tmp_path / "r.csv", leads=NAMES).signal, ecg.astype(np.float32))


@pytest.mark.parametrize(("before", "after"), [(300, 200), (0, 100), (3, 20)])
def test_many_zeros_at_the_ends_are_padding(tmp_path: Path, ecg: Any, before: int, after: int) -> None:
    inside = slice(before if before >= 25 else 0, -after if after >= 25 else None)
    filled = np.pad(ecg, ((before, after), (0, 0)))
    signal = read(saved(tmp_path / "r.npy", filled), leads=NAMES).signal
    np.testing.assert_array_equal(signal, filled[inside].astype(np.float32))
    if before >= 25:
        filled[[*range(before), *range(-after, 0)]] = np.nan
        np.testing.assert_array_equal(read(saved(tmp_path / "r.npy", filled), leads=NAMES).signal, signal)
    assert refusal(saved(tmp_path / "z.npy", 0 * ecg), leads=NAMES) == "all samples zero"


def write_muse(path: Path, counts: Any, microvolts: float) -> None:
    """GE MUSE XML: eight leads in base64, as MUSE stores them."""
    leads = ""
    for lead in (*LEADS[:2], *LEADS[6:]):
        payload = np.ascontiguousarray(counts[:, LEADS.index(lead)]).astype("<i2").tobytes()
        leads += (
            f"<LeadData><LeadByteCountTotal>{len(payload)}</LeadByteCountTotal><LeadTimeOffset>0</LeadTimeOffset>"
            f"<LeadSampleCountTotal>{len(payload) // 2}</LeadSampleCountTotal>"
            f"<LeadAmplitudeUnitsPerBit>{microvolts}</LeadAmplitudeUnitsPerBit>"
            f"<LeadAmplitudeUnits>MICROVOLTS</LeadAmplitudeUnits><LeadID>{lead}</LeadID>"
            f"<WaveFormData>{base64.b64encode(payload).decode()}</WaveFormData>"
            f"<LeadSampleSize>2</LeadSampleSize><LeadDataCRC32>{zlib.crc32(payload)}</LeadDataCRC32></LeadData>"
        )
    path.write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE RestingECG SYSTEM "restecg.dtd"><RestingECG>'
        "<MuseInfo><MuseVersion>7.1.1</MuseVersion></MuseInfo><PatientDemographics><PatientID>p1</PatientID>"
        "</PatientDemographics><Waveform><WaveformType>Rhythm</WaveformType><NumberofLeads>8</NumberofLeads>"
        f"<SampleBase>{FS}</SampleBase><SampleExponent>0</SampleExponent>{leads}</Waveform></RestingECG>"
    )


def test_an_export_of_a_device_is_read_as_it_was_written(tmp_path: Path, ecg: Any) -> None:
    pytest.importorskip("ecgdatakit")
    counts = np.tile(np.rint(ecg * 400).astype(np.int16) * 4, (4, 1))[:2000]
    one, two = counts[:, 0], counts[:, 1]
    counts[:, 2:6] = np.stack([two - one, -(one + two) // 2, (2 * one - two) // 2, (2 * two - one) // 2], axis=1)
    path, card = tmp_path / "muse.xml", {"rate": None, "unit": None, "derive": True}
    write_muse(path, counts, 4.88)
    recording = read(path, **card)
    assert recording.fs == FS
    np.testing.assert_allclose(recording.signal, counts * 4.88e-3, rtol=1e-4, atol=1e-4 * 4.88e-3)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"<LeadTimeOffset>0<", b"<LeadTimeOffset>2500<", 2))
    assert refusal(path, **card).startswith("leads begin at different times")
    path.write_bytes(content[: len(content) // 2 + 1])
    refusal(path, **card)
    position = content.index(b"<WaveFormData>") + 40
    other = b"B" if content[position : position + 1] != b"B" else b"C"
    path.write_bytes(content[:position] + other + content[position + 1 :])
    assert refusal(path, **card).endswith("copy it again: CRC32 mismatch in lead I (rhythm) of muse.xml")
