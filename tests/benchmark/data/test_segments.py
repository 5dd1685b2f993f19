"""The heartbeat pipeline against the authors' values, neurokit2's own functions, and signals one can reason about.

R peaks against neurokit2's own: simulated and real ECGs, noise, plateaus, nothing at all.

Plain windows follow each other without gap, are standardised over the recording, and say why there are none.

Fewer leads: by number or name, in their fixed order, and zero where they are absent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import neurokit2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.segments import (
    FS,
    HEARTBEATS,
    WINDOW,
    Segmentation,
    clean,
    find_r_peaks,
    heartbeats,
    leads_named,
    long_stretches,
    most_prominent,
    normalise_trials,
    plain_seconds,
    plain_windows,
    pseudo_trials,
    resample,
    spaced,
    standardise,
    without_absent,
)
from benchmark.data.simulate import simulate

REFERENCES = [("beats_ptbxl_dev.npz", "ptb-xl/records500/00000"), ("beats_cpsc_dev.npz", "cpsc2018/Training_WFDB")]


@pytest.mark.parametrize(("numbers", "folder"), REFERENCES)
def test_authors_values(shared_reference: Path, shared_ecgs: Path, numbers: str, folder: str):
    reference = np.load(shared_reference / numbers)
    records = sorted({name.partition("/")[0] for name in reference.files})
    assert records
    for record in records:
        recording = read_recording(shared_ecgs / folder / record)
        trials = pseudo_trials(recording.signal, recording.fs, 6)
        assert trials.shape == reference[f"{record}/trials"].shape
        assert len(trials) == reference[f"{record}/n_trials"]
        np.testing.assert_allclose(trials, reference[f"{record}/trials"], atol=1e-5, rtol=0)
        if reference[f"{record}/n_beats"] == 0:
            with pytest.raises(Unusable, match=f"median RR {reference[f'{record}/median_rr']:g} samples"):
                heartbeats(recording.signal, recording.fs)
            continue
        beats = heartbeats(recording.signal, recording.fs)
        assert len(beats.windows) == reference[f"{record}/n_beats"]
        assert beats.median_rr == reference[f"{record}/median_rr"]


@pytest.mark.parametrize("folder", [folder for _, folder in REFERENCES])
def test_the_filter_is_neurokits_own_to_the_bit(shared_ecgs: Path, folder: str):
    headers = sorted((shared_ecgs / folder).glob("*.hea"))[:6]
    assert headers
    for header in headers:
        recording = read_recording(header.with_suffix(""))
        signal = standardise(resample(recording.signal, recording.fs))
        theirs = [neurokit2.ecg_clean(lead, sampling_rate=250, method="neurokit") for lead in signal.T]
        np.testing.assert_array_equal(clean(signal), theirs)


def test_each_window_has_its_r_peak_in_the_middle_and_spans_one_interval(make_ecg):
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


def test_a_beat_at_the_edge_is_clipped_and_centred(make_ecg):
    signal = make_ecg(rate=60)
    beats = heartbeats(signal[300:], 500)  # 0.4 s before a beat; within 0.3 s the detector finds none
    before, half = beats.r_peaks[0], int(beats.median_rr / 2)
    assert before < half
    left = (WINDOW - (before + half)) // 2
    first = beats.windows[0, :, 0]
    assert not first[:left].any()
    assert first[left]
    assert not first[left + before + half :].any()


@pytest.mark.parametrize(("fs", "n"), [(100, 999), (500, 5001), (1000, 10000)])
def test_resampling_keeps_first_and_last_sample(fs, n):
    signal = np.random.default_rng(0).normal(size=(n, 2))
    resampled = resample(signal, fs)
    assert len(resampled) == int(n * 250 / fs)
    np.testing.assert_array_equal(resampled[[0, -1]], signal[[0, -1]])


@pytest.mark.parametrize(("fs", "n"), [(100, 999), (257, 700), (500, 5001), (500, 1)])
def test_resampling_is_linear_interpolation_to_the_bit(fs, n):
    signal = np.random.default_rng(0).normal(size=(n, 2))
    grid = np.linspace(1, n, int(n * 250 / fs))
    expected = [np.interp(grid, np.arange(1, n + 1), lead) for lead in signal.T]
    np.testing.assert_array_equal(resample(signal, fs).T, expected)


def test_250_hz_passes_unchanged():
    signal = np.random.default_rng(0).normal(size=(2500, 2)).astype(np.float32)
    np.testing.assert_array_equal(resample(signal, 250), signal)


@pytest.mark.parametrize(("rate", "fs"), [(100, 500), (100, 250), (100, 1000), (500, 250), (500, 257), (100, 100)])
def test_a_recording_at_another_rate_lasts_as_long_and_keeps_its_shape(rate: int, fs: int) -> None:
    time = np.arange(10 * fs) / fs
    signal = np.stack([np.sin(2 * np.pi * 3 * time), 2 + np.cos(2 * np.pi * 7 * time)], axis=1)  # (n, 2)
    found = resample(signal, fs, rate)
    assert found.shape == (10 * rate, 2)
    there = np.arange(10 * rate) / rate
    expected = np.stack([np.sin(2 * np.pi * 3 * there), 2 + np.cos(2 * np.pi * 7 * there)], axis=1)
    inner = slice(rate, -rate)
    np.testing.assert_allclose(found[inner], expected[inner], atol=5e-3)


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


@pytest.mark.parametrize(("n", "fs", "rate"), [(999, 500, 100), (1001, 1000, 100), (701, 257, 500), (700, 250, 500)])
def test_at_any_rate_a_line_stays_one_to_its_ends_and_lasts_as_long(n: int, fs: int, rate: int) -> None:
    line = 3 + np.arange(n)[:, None] / fs * np.array([1.0, -2.0])  # (n, 2)
    found = resample(line, fs, rate)
    assert len(found) == int(n * rate / fs)
    expected = 3 + np.arange(len(found))[:, None] / rate * np.array([1.0, -2.0])
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_each_lead_is_standardised_by_its_own_mean_and_deviation() -> None:
    signal = np.random.default_rng(0).normal(3, [0.1, 5.0, 1.0], size=(1000, 3))
    signal[:, 2] = 0.1
    expected = (signal[:, :2] - signal[:, :2].mean(axis=0)) / signal[:, :2].std(axis=0)
    found = standardise(signal)
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-9)
    assert not found[:, 2].any()


def test_the_same_beats_are_found_at_another_sampling_rate(make_ecg):
    fast, slow = (heartbeats(make_ecg(fs=fs), fs) for fs in (500, 250))
    assert np.abs(fast.r_peaks - slow.r_peaks).max() <= 1


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_flat_lead_stays_zero(make_ecg, value):
    """0.1 has no exact mean, so its standard deviation is not exactly zero: still no noise is blown up."""
    signal = make_ecg()
    signal[:, 4] = value
    trials = pseudo_trials(signal, 500, 3)
    assert len(trials) > 0
    assert not trials[:, :, 4].any()
    assert np.isfinite(trials).all()


def test_rates_under_50_are_refused_and_50_passes(make_ecg):
    assert heartbeats(make_ecg(rate=50), 500).median_rr == 300
    with pytest.raises(Unusable, match=r"^heart rate below 50/min: median RR 3\d\d(\.5)? samples at 250 Hz$"):
        heartbeats(make_ecg(rate=49), 500)


def test_two_beats_are_enough(make_ecg):
    found = heartbeats(make_ecg(seconds=2.0), 500)
    assert (found.median_rr, found.r_peaks.tolist()) == (200, [200, 400])


def test_a_recording_as_long_as_a_window_is_not_too_short(make_ecg):
    with pytest.raises(Unusable, match="no beats found"):
        heartbeats(make_ecg(fs=250)[:WINDOW], 250)
    with pytest.raises(Unusable, match="too short"):
        heartbeats(make_ecg(fs=250)[: WINDOW - 1], 250)


def test_other_reasons_of_refusal(make_ecg):
    signal = make_ecg()
    with pytest.raises(Unusable, match=r"^too short: 1\.00 s$"):
        heartbeats(signal[:500], 500)
    with pytest.raises(Unusable, match=r"^no beats found: no lead has two R peaks$"):
        heartbeats(np.zeros((5000, 12)), 500)
    signal[10, 2] = np.nan
    with pytest.raises(Unusable, match=r"^NaN samples$"):
        heartbeats(signal, 500)


def test_an_unusable_recording_has_no_pseudo_trial(make_ecg):
    assert pseudo_trials(make_ecg(rate=40), 500, 6).shape == (0, 1800, 12)
    assert pseudo_trials(make_ecg(rate=40), 500, 1).shape == (0, 300, 12)


def test_pseudo_trials_are_z_scored_and_the_rest_dropped():
    windows = np.random.default_rng(0).normal(3, 2, size=(8, WINDOW, 12)).astype(np.float32)
    windows[:, :40] = 0
    trials = normalise_trials(windows, 3)
    assert trials.shape == (2, 900, 12)
    assert trials.dtype == np.float32
    np.testing.assert_allclose(trials.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(trials.std(axis=1), 1, atol=1e-5)
    assert (trials[:, :40] < 0).all()  # the padding takes part and is no longer zero


def test_any_number_of_leads(make_ecg):
    assert pseudo_trials(make_ecg()[:, :2], 500, 6).shape == (2, 1800, 2)


def assert_neurokits(cleaned: NDArray[np.float64]) -> int:
    """The peaks of all leads (L, n) are neurokit2's; how many there are."""
    ours = find_r_peaks(cleaned, FS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a lead without a whole QRS makes it average nothing
        theirs = [neurokit2.ecg_findpeaks(lead, FS, method="neurokit")["ECG_R_Peaks"] for lead in cleaned]
    for own, reference in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(own, np.asarray(reference, int))
    return sum(map(len, ours))


@pytest.mark.parametrize("diagnosis", ["NORM", "LBBB", "AFIB", "MI-ANT", "ST"])
@pytest.mark.parametrize("fs", [100.0, 500.0])
def test_simulated_ecgs(diagnosis: str, fs: float) -> None:
    for seed in range(4):
        signal = simulate(diagnosis, seed=seed, seconds=10.0, fs=fs)
        assert assert_neurokits(clean(standardise(resample(signal, fs)))) > 60


@pytest.mark.parametrize("folder", ["ptb-xl/records500/00000", "cpsc2018/Training_WFDB"])
def test_real_ecgs(shared_ecgs: Path, folder: str) -> None:
    headers = sorted((shared_ecgs / folder).glob("*.hea"))[:20]
    assert headers
    for header in headers:
        recording = read_recording(header.with_suffix(""))
        assert assert_neurokits(clean(standardise(resample(recording.signal, recording.fs)))) > 0


@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_noise_and_plateaus(decimals: int) -> None:
    generator = np.random.default_rng(0)
    assert sum(assert_neurokits(np.round(generator.normal(size=(12, 700)).cumsum(axis=1), decimals)) for _ in range(20))


def test_where_there_is_nothing_to_find() -> None:
    assert assert_neurokits(np.zeros((2, 1000))) == 0
    assert assert_neurokits(np.linspace(0, 1, 1000)[None]) == 0
    step = np.r_[np.zeros(500), np.ones(500)]
    assert_neurokits(np.stack([step, np.zeros(1000), -step]))


def test_nothing_is_steep_where_a_lead_is_flat_between_its_beats() -> None:
    """Whole numbers, so that slope and average are zero there to the bit."""
    lead = np.zeros(3000)
    for beat in (500, 1250, 2250):
        lead[beat - 2 : beat + 3] = 0, 50, 100, 50, 0
    (found,) = find_r_peaks(lead[None], FS)
    assert found.tolist() == [500, 1250, 2250]
    assert assert_neurokits(lead[None]) == 3


def test_a_lower_maximum_may_be_the_more_prominent() -> None:
    lead = np.array([9.0, 10.0, 9.5, 5.0, 8.0, 4.0])  # 10 stands 1 above its begin, 8 stands 3 above its valley
    (found,) = most_prominent(lead[None], np.array([0]), np.array([0]), np.array([6]))
    assert found == 4
    (none,) = most_prominent(lead[None], np.array([0]), np.array([2]), np.array([4]))
    assert none == -1


def test_of_equal_maxima_the_first_counts_and_neither_hides_the_other() -> None:
    """Each 10 stands 10 above the ends of the stretch, 8 above the valley between; the 9 stands 9 above both sides."""
    lead = np.array([[0.0, 10.0, 2.0, 10.0, 0.0, 9.0, 0.0]])
    assert most_prominent(lead, np.array([0]), np.array([0]), np.array([7])).tolist() == [1]


def test_a_stretch_with_equal_neighbours_may_have_no_maximum() -> None:
    lead = np.array([[1.0, 1.0, 2.0, 3.0, 3.0]])
    assert most_prominent(lead, np.array([0]), np.array([0]), np.array([5])).tolist() == [-1]


def test_stretches_of_less_than_two_fifths_of_their_lead_s_mean_are_dropped() -> None:
    """Of 2 and 8 samples the mean is 5, and 2 just long enough; of 1 and 9, 1 is not. What is cut off is left out."""
    steep = np.zeros((4, 40), bool)
    for lead, begin, end in [(0, 5, 7), (0, 20, 28), (2, 3, 4), (2, 10, 19), (3, 0, 9), (3, 12, 13), (3, 30, 40)]:
        steep[lead, begin:end] = True
    lead, begin, end = long_stretches(steep)
    assert lead.tolist() == [0, 0, 2, 3]
    assert begin.tolist() == [4, 19, 9, 11]  # the sample before
    assert end.tolist() == [6, 27, 18, 12]


def test_peaks_keep_their_distance_from_the_last_that_was_kept() -> None:
    np.testing.assert_array_equal(spaced(np.array([75, 76, 140, 152, 300]), 75), [76, 152, 300])


def test_seconds_are_counted_at_250_hz() -> None:
    assert plain_seconds(2.5) == Segmentation("windows", 625)
    assert plain_seconds(1.2).samples == 300


@pytest.mark.parametrize(("fs", "seconds", "count"), [(500, 10.0, 4), (250, 10.0, 4), (100, 12.4, 4), (1000, 2.5, 1)])
def test_windows_joined_are_the_beginning_of_the_recording(
    make_ecg: Callable[..., np.ndarray], fs: int, seconds: float, count: int
) -> None:
    signal = make_ecg(seconds=seconds, fs=fs)
    windows = plain_windows(signal, fs, 625)
    assert windows.shape == (count, 625, 12)
    expected = standardise(resample(signal, fs))[: count * 625]
    np.testing.assert_array_equal(windows.reshape(-1, 12), expected.astype(np.float32))


def test_segmentations_differ_in_what_is_kept_joined_and_drawn() -> None:
    crops, plain = Segmentation("recordings", 250, 100, 125), plain_seconds(2.5)
    assert [cut.unit for cut in (HEARTBEATS, plain, crops)] == [300, 625, 1]
    assert [cut.anywhere for cut in (HEARTBEATS, plain, crops)] == [False, True, True]
    assert [cut.joined_scale for cut in (HEARTBEATS, plain, crops)] == [True, True, False]
    assert not any(replace(cut, raw=True).joined_scale for cut in (HEARTBEATS, plain, crops))
    assert [cut.word for cut in (HEARTBEATS, plain, crops)] == ["heartbeat", "window", "crop"]
    assert [cut.seconds for cut in (HEARTBEATS, plain, crops)] == [1.2, 2.5, 2.5]


def test_what_differs_from_the_paper_is_put_in_words() -> None:
    assert list(HEARTBEATS.words()) == []
    assert list(plain_seconds(2.5).words()) == ["windows of 2.5 s"]
    assert list(Segmentation(rate=500, samples=600, raw=True).words()) == ["500 Hz", "in mV"]
    assert list(Segmentation("recordings", 250, 100, 125, pad=True).words()) == [
        "crops of 2.5 s every 1.25 s of whole recordings",
        "100 Hz",
        "shorter recordings lengthened by zeros",
    ]


def test_windows_and_beats_of_a_trial_do_not_overlap() -> None:
    assert [cut.step(1) for cut in (HEARTBEATS, plain_seconds(2.5))] == [300, 625]
    assert [HEARTBEATS.step(6), Segmentation("recordings", 250, 100, 125).step(2)] == [1800, 500]
    assert plain_seconds(2.5).trials_in(np.array([0, 1, 5]), 1).tolist() == [0, 1, 5]
    assert HEARTBEATS.trials_in(np.array([5, 6, 13]), 6).tolist() == [0, 1, 2]


def test_ten_seconds_have_eleven_beats_and_at_least_one_window() -> None:
    assert [cut.windows_of_typical() for cut in (HEARTBEATS, Segmentation(rate=500, samples=600))] == [11, 11]
    assert [plain_seconds(seconds).windows_of_typical() for seconds in (1, 2.5, 10, 11)] == [10, 4, 1, 1]


def test_a_slow_heart_has_plain_windows_and_no_heartbeats(make_ecg: Callable[..., np.ndarray]) -> None:
    np.testing.assert_array_equal(HEARTBEATS.cut(make_ecg(), 500), heartbeats(make_ecg(), 500).windows)
    slow = make_ecg(rate=40.0)
    assert len(plain_seconds(2.5).cut(slow, 500)) == 4
    with pytest.raises(Unusable, match="heart rate below 50/min"):
        HEARTBEATS.cut(slow, 500)


def test_ten_seconds_at_100_hz_have_seven_crops() -> None:
    crops = Segmentation("recordings", 250, 100, 125)
    kept = np.array([249, 250, 374, 375, 1000, 6000])  # samples of recordings
    assert crops.trials_in(kept, 1).tolist() == [0, 1, 1, 2, 7, 47]
    assert crops.trials_in(kept, 4).tolist() == [0, 0, 0, 0, 1, 6]  # pseudo-trials to pretrain on, without overlap
    assert crops.windows_of_typical() == 7


def test_without_standardisation_samples_are_millivolts(make_ecg: Callable[..., np.ndarray]) -> None:
    signal = make_ecg(fs=250)
    whole = Segmentation("recordings", 2500, raw=True).cut(signal, 250)
    np.testing.assert_array_equal(whole[:, 0], signal.astype(np.float32))
    np.testing.assert_array_equal(
        Segmentation("windows", 625, raw=True).cut(signal, 250).reshape(-1, 12), signal.astype(np.float32)
    )
    beats, scaled = (Segmentation(raw=raw).cut(signal, 250) for raw in (True, False))
    assert np.array_equal(beats != 0, scaled != 0) or beats.shape == scaled.shape
    assert beats[3].max() == pytest.approx(2.1, abs=0.1)  # lead V6, in mV
    with pytest.raises(Unusable, match="too large to be kept in mV: 2"):
        Segmentation("recordings", 2500, raw=True).cut(signal * 1e8, 250)


def test_the_largest_number_of_half_precision_can_be_kept_in_millivolts(make_ecg: Callable[..., np.ndarray]) -> None:
    signal = make_ecg(fs=250)
    signal[7, 3] = -65504
    assert Segmentation("recordings", 2500, raw=True).cut(signal, 250).min() == -65504
    assert np.isfinite(Segmentation("recordings", 2500).cut(signal, 250)).all()


def test_a_short_recording_is_skipped_or_lengthened_by_zeros(make_ecg: Callable[..., np.ndarray]) -> None:
    short = make_ecg(seconds=6.0)
    with pytest.raises(Unusable, match=r"too short: 6\.00 s"):
        Segmentation("recordings", 1000, 100, 500).cut(short, 500)
    padding = Segmentation("recordings", 1000, 100, 500, pad=True)
    kept = padding.cut(short, 500)
    assert kept.shape == (1000, 1, 12)
    assert not kept[600:].any()
    np.testing.assert_allclose(kept[:600].mean(axis=0), 0, atol=1e-4)
    assert padding.is_padded(3000, 500)
    assert not padding.is_padded(5000, 500)
    assert not Segmentation("recordings", 1000, 100, 500).is_padded(3000, 500)
    with pytest.raises(Unusable, match=r"too short: 0\.00 s"):
        padding.cut(short[:0], 500)
    assert Segmentation("windows", 2500, pad=True).cut(short, 500).shape == (1, 2500, 12)


def test_what_is_too_short_or_not_a_number_says_so(make_ecg: Callable[..., np.ndarray]) -> None:
    with pytest.raises(Unusable, match=r"too short: 2\.40 s"):
        plain_windows(make_ecg(seconds=2.4), 500, 625)
    broken = make_ecg()
    broken[7, 3] = np.nan
    with pytest.raises(Unusable, match="NaN samples"):
        plain_windows(broken, 500, 625)


@pytest.mark.parametrize(
    ("asked", "leads"),
    [
        (12, list(LEADS)),
        (["8"], ["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"]),
        (6, ["I", "II", "III", "aVR", "aVL", "aVF"]),
        ([3], ["I", "II", "V2"]),
        ("2", ["I", "II"]),
        (1, ["I"]),
        ("v1", ["V1"]),
        (["V2", "avr", " I "], ["I", "aVR", "V2"]),
    ],
)
def test_leads_are_named_by_number_or_one_by_one(asked: Any, leads: list[str]) -> None:
    assert leads_named(asked) == leads


@pytest.mark.parametrize("asked", [5, 0, -1, [], ["I", "V7"], ["2", "3"], [True], None, {"I": 1}, ["I", "I"]])
def test_what_names_no_leads_is_refused_with_what_is_possible(asked: Any) -> None:
    with pytest.raises(ValueError, match=r"; there are I II III aVR .* or one of the numbers 12, 8, 6, 3, 2, 1$"):
        leads_named(asked)


def test_absent_leads_are_zero_and_the_given_array_stays_as_it_is() -> None:
    signal = np.random.default_rng(0).normal(size=(3, 5, 12)).astype(np.float16)
    before = signal.copy()
    found = without_absent(signal, ["I", "V6"])
    np.testing.assert_array_equal(found[..., [0, 11]], signal[..., [0, 11]])
    assert not found[..., 1:11].any()
    np.testing.assert_array_equal(signal, before)
    assert without_absent(signal, LEADS) is signal
