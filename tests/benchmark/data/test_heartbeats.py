"""The heartbeat pipeline against the authors' values, neurokit2's filter and peaks, and signals made by hand."""

from __future__ import annotations

import warnings
from pathlib import Path

import neurokit2
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import find_peaks

from benchmark.data.datasets.base import Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.heartbeats import (
    FS,
    WINDOW,
    clean,
    find_r_peaks,
    heartbeats,
    most_prominent,
    pseudo_trials,
    resample,
    standardise,
)

REFERENCES = [("beats_ptbxl_dev.npz", "ptb-xl/records500/00000"), ("beats_cpsc_dev.npz", "cpsc2018/Training_WFDB")]


@pytest.mark.parametrize(("numbers", "folder"), REFERENCES)
def test_authors_values(shared_reference: Path, shared_ecgs: Path, numbers: str, folder: str):
    reference = np.load(shared_reference / numbers)
    records = sorted({name.partition("/")[0] for name in reference.files})
    assert records
    for record in records:
        recording = read_recording(shared_ecgs / folder / record)
        if reference[f"{record}/n_beats"] == 0:
            with pytest.raises(Unusable, match=f"median RR {reference[f'{record}/median_rr']:g} samples"):
                heartbeats(recording.signal, recording.fs)
            assert pseudo_trials(recording.signal, recording.fs, 6).shape == (0, 6 * WINDOW, 12)
            continue
        beats = heartbeats(recording.signal, recording.fs)
        assert len(beats.windows) == reference[f"{record}/n_beats"]
        assert beats.median_rr == reference[f"{record}/median_rr"]
        trials = pseudo_trials(recording.signal, recording.fs, 6)
        assert len(trials) == reference[f"{record}/n_trials"]
        np.testing.assert_allclose(trials, reference[f"{record}/trials"], atol=1e-5, rtol=0)


def test_each_window_is_centred_on_its_r_peak(make_ecg):
    beats = heartbeats(make_ecg(rate=75), 500)
    assert beats.windows.shape[1:] == (WINDOW, 12)
    assert beats.windows.dtype == np.float32
    assert beats.median_rr == 200
    np.testing.assert_array_equal(np.diff(beats.r_peaks), 200)
    inner = beats.windows[1:-1, :, 0]
    np.testing.assert_array_equal(inner.argmax(axis=1), 150)
    assert not inner[:, :50].any()
    assert not inner[:, 250:].any()
    assert inner[:, 50:250].all()


@pytest.mark.parametrize(("fs", "n"), [(100, 999), (250, 700), (257, 700), (500, 5001), (500, 1)])
def test_resampling_is_linear_interpolation_to_the_bit(fs, n):
    signal = np.random.default_rng(0).normal(size=(n, 2))
    grid = np.linspace(1, n, int(n * 250 / fs))
    expected = [np.interp(grid, np.arange(1, n + 1), lead) for lead in signal.T]
    np.testing.assert_array_equal(resample(signal, fs).T, expected)


def test_what_a_lower_rate_cannot_hold_is_removed() -> None:
    hum = np.sin(2 * np.pi * 90 * np.arange(5000) / 500)[:, None]  # 90 Hz
    assert np.abs(resample(hum, 500, 100)[100:-100]).max() < 0.02


@pytest.mark.parametrize("rate", [100, 500])
def test_heartbeats_at_another_rate_are_the_same_beats(make_ecg, rate: int) -> None:
    signal = make_ecg()
    ours, paper = heartbeats(signal, 500, rate), heartbeats(signal, 500)
    assert ours.windows.shape == (len(paper.windows), 300 * rate // 250, 12)
    for one, other in zip(ours.windows[1:-1], paper.windows[1:-1], strict=True):
        at, expected = one[:, 0].argmax() / rate, other[:, 0].argmax() / 250
        assert abs(at - expected) <= 1.5 / 100
        assert np.count_nonzero(one[:, 0]) / rate == pytest.approx(np.count_nonzero(other[:, 0]) / 250, abs=0.02)
    assert ours.median_rr == paper.median_rr


def test_rates_under_50_are_refused(make_ecg):
    assert heartbeats(make_ecg(rate=50), 500).median_rr == 300
    with pytest.raises(Unusable, match=r"^heart rate below 50/min: median RR 3\d\d(\.5)? samples at 250 Hz$"):
        heartbeats(make_ecg(rate=49), 500)


def test_a_peak_missed_in_one_lead_moves_no_beat_of_all_leads_together(make_ecg):
    """The authors pair peaks by their index, so that a lead without its first QRS complex is one beat ahead."""
    signal = make_ecg(rate=75)
    whole = heartbeats(signal, 500, beats="fused").r_peaks
    np.testing.assert_array_equal(whole, heartbeats(signal, 500).r_peaks)
    flat = signal.copy()
    flat[:700, :7] = flat[700, :7]  # most leads without their first complex
    np.testing.assert_array_equal(heartbeats(flat, 500, beats="fused").r_peaks, whole)
    assert heartbeats(flat, 500).r_peaks.tolist() == [*whole[1:], whole[-1]]


def test_of_all_leads_together_a_slow_heart_has_windows_of_its_peaks_without_padding(make_ecg):
    beats = heartbeats(make_ecg(rate=40), 500, beats="fused")
    assert beats.median_rr == 375
    inner = beats.windows[1:-1, :, 0]
    np.testing.assert_array_equal(inner.argmax(axis=1), WINDOW // 2)
    assert inner.all()
    with pytest.raises(Unusable, match=r"^no beats found: fewer than two R peaks$"):
        heartbeats(np.zeros((5000, 12)), 500, beats="fused")


def test_other_reasons_of_refusal(make_ecg):
    with_nan = make_ecg()
    with_nan[10, 2] = np.nan
    for signal, fs, reason in (
        (make_ecg(fs=250)[:WINDOW], 250, "no beats found: no lead has two R peaks"),
        (make_ecg(fs=250)[: WINDOW - 1], 250, r"too short: 1\.20 s"),
        (np.zeros((5000, 12)), 500, "no beats found: no lead has two R peaks"),
        (with_nan, 500, "NaN samples"),
    ):
        with pytest.raises(Unusable, match=f"^{reason}$"):
            heartbeats(signal, fs)


def assert_neurokits(cleaned: NDArray[np.float64]) -> int:
    """The peaks of all leads (L, n) are neurokit2's; how many there are."""
    ours = find_r_peaks(cleaned)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a lead without a whole QRS makes it average nothing
        theirs = [neurokit2.ecg_findpeaks(lead, FS, method="neurokit")["ECG_R_Peaks"] for lead in cleaned]
    for item, reference in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(item, np.asarray(reference, int))
    return sum(map(len, ours))


@pytest.mark.parametrize("folder", [folder for _, folder in REFERENCES])
def test_peaks_of_real_ecgs_are_neurokits_to_the_bit(shared_ecgs: Path, folder: str) -> None:
    headers = sorted((shared_ecgs / folder).glob("*.hea"))[:20]
    assert headers
    for header in headers:
        recording = read_recording(header.with_suffix(""))
        signal = standardise(resample(recording.signal, recording.fs))
        cleaned = clean(signal)
        theirs = [neurokit2.ecg_clean(lead, sampling_rate=250, method="neurokit") for lead in signal.T]
        np.testing.assert_array_equal(cleaned, theirs)
        assert assert_neurokits(cleaned) > 0


def test_the_most_prominent_maximum_of_a_stretch_is_scipys() -> None:
    random, lead, begin = np.random.default_rng(0), np.repeat([0, 1, 2], 8), np.tile(np.arange(0, 400, 50), 3)
    end = begin + random.integers(2, 50, len(begin))
    for cleaned in (noise := random.normal(size=(3, 400)), noise.cumsum(axis=1), noise.round(0)):
        for number, best in enumerate(most_prominent(cleaned, lead, begin, end)):
            peaks, of = find_peaks(cleaned[lead[number], begin[number] : end[number]], prominence=(None, None))
            assert best == (begin[number] + peaks[of["prominences"].argmax()] if len(peaks) else -1)


@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_odd_signals_have_the_peaks_of_neurokit(decimals: int) -> None:
    generator = np.random.default_rng(0)
    assert sum(assert_neurokits(np.round(generator.normal(size=(12, 700)).cumsum(axis=1), decimals)) for _ in range(20))
