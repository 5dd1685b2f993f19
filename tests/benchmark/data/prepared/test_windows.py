"""Plain windows follow each other without gap, are standardised over the recording, and say why there are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmark.data.prepared.beats import heartbeats, resample, standardise
from benchmark.data.prepared.windows import HEARTBEATS, Segmentation, plain_seconds, plain_windows
from benchmark.data.readers.base import Unusable


def test_seconds_are_counted_at_250_hz() -> None:
    assert plain_seconds(2.5) == Segmentation("windows", 625)
    assert plain_seconds(1.2).samples == 300
    assert (HEARTBEATS.word, plain_seconds(1.2).word) == ("heartbeat", "window")


@pytest.mark.parametrize(("fs", "seconds", "count"), [(500, 10.0, 4), (250, 10.0, 4), (100, 12.4, 4), (1000, 2.5, 1)])
def test_windows_joined_are_the_beginning_of_the_recording(
    make_ecg: Callable[..., np.ndarray], fs: int, seconds: float, count: int
) -> None:
    signal = make_ecg(seconds=seconds, fs=fs)
    windows = plain_windows(signal, fs, 625)
    assert windows.shape == (count, 625, 12)
    expected = standardise(resample(signal, fs))[: count * 625]
    np.testing.assert_array_equal(windows.reshape(-1, 12), expected.astype(np.float32))


def test_a_slow_heart_has_plain_windows_and_no_heartbeats(make_ecg: Callable[..., np.ndarray]) -> None:
    slow = make_ecg(rate=40.0)
    assert len(plain_seconds(2.5).cut(slow, 500)) == 4
    with pytest.raises(Unusable, match="heart rate below 50/min"):
        HEARTBEATS.cut(slow, 500)


def test_heartbeats_are_cut_as_the_paper_has_it(make_ecg: Callable[..., np.ndarray]) -> None:
    signal = make_ecg()
    np.testing.assert_array_equal(HEARTBEATS.cut(signal, 500), heartbeats(signal, 500).windows)


def test_the_paper_windows_are_kept_under_the_key_they_always_had() -> None:
    assert HEARTBEATS.content() == {"kind": "heartbeats", "samples": 300}
    assert plain_seconds(2.5).content() == {"kind": "windows", "samples": 625}
    crops = Segmentation("recordings", 250, 100, 125, raw=True)
    assert crops.content() == {"kind": "recordings", "samples": 250, "rate": 100, "stride": 125, "raw": True}


def test_ten_seconds_at_100_hz_have_seven_crops() -> None:
    crops = Segmentation("recordings", 250, 100, 125)
    kept = np.array([249, 250, 374, 375, 1000, 6000])  # samples of recordings
    assert crops.trials_in(kept, 1).tolist() == [0, 1, 1, 2, 7, 47]
    assert crops.trials_in(kept, 4).tolist() == [0, 0, 0, 0, 1, 6]  # pseudo-trials to pretrain on, without overlap
    assert crops.windows_of_typical() == 7


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
def test_heartbeats_at_another_rate_are_the_same_beats(make_ecg: Callable[..., np.ndarray], rate: int) -> None:
    signal = make_ecg()
    ours, paper = heartbeats(signal, 500, rate), heartbeats(signal, 500)
    assert ours.windows.shape == (len(paper.windows), 300 * rate // 250, 12)
    for one, other in zip(ours.windows[1:-1], paper.windows[1:-1], strict=True):
        at, expected = one[:, 0].argmax() / rate, other[:, 0].argmax() / 250
        assert abs(at - expected) <= 1.5 / 100
    assert ours.median_rr == paper.median_rr


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
    assert Segmentation("windows", 2500, pad=True).cut(short, 500).shape == (1, 2500, 12)


def test_what_is_too_short_or_not_a_number_says_so(make_ecg: Callable[..., np.ndarray]) -> None:
    with pytest.raises(Unusable, match=r"too short: 2\.40 s"):
        plain_windows(make_ecg(seconds=2.4), 500, 625)
    broken = make_ecg()
    broken[7, 3] = np.nan
    with pytest.raises(Unusable, match="NaN samples"):
        plain_windows(broken, 500, 625)
