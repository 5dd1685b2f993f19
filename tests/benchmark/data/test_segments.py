"""Plain windows follow each other without gap, are standardised over the recording, and say why there are none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmark.data.datasets.base import LEADS, Unusable
from benchmark.data.segments import HEARTBEATS, Segmentation, leads_named


def test_windows_of_a_trial_do_not_overlap() -> None:
    crops = Segmentation("recordings", 250, 100, 125)
    assert [HEARTBEATS.step(1), HEARTBEATS.step(6), crops.step(2)] == [300, 1800, 500]
    assert HEARTBEATS.trials_in(np.array([5, 6, 13]), 6).tolist() == [0, 1, 2]
    samples = np.array([249, 250, 374, 375, 1000, 6000])  # samples of recordings
    assert crops.trials_in(samples, 1).tolist() == [0, 1, 1, 2, 7, 47]
    assert crops.trials_in(samples, 4).tolist() == [0, 0, 0, 0, 1, 6]  # pseudo-trials to pretrain on, without overlap
    assert crops.windows_of_typical() == 7  # of ten seconds at 100 Hz


def test_without_standardisation_samples_are_millivolts(make_ecg: Callable[..., np.ndarray]) -> None:
    signal = make_ecg(fs=250)
    whole = Segmentation("recordings", 2500, raw=True).cut(signal, 250)
    np.testing.assert_array_equal(whole[:, 0], signal.astype(np.float32))
    beats, scaled = (Segmentation(raw=raw).cut(signal, 250) for raw in (True, False))
    assert np.array_equal(beats != 0, scaled != 0) or beats.shape == scaled.shape
    assert beats[3].max() == pytest.approx(2.1, abs=0.1)  # lead V6, in mV
    with pytest.raises(Unusable, match="too large to be kept in mV: 2"):
        Segmentation("recordings", 2500, raw=True).cut(signal * 1e8, 250)
    signal[7, 3] = -65504  # the largest number of half precision
    assert Segmentation("recordings", 2500, raw=True).cut(signal, 250).min() == -65504


def test_a_short_recording_is_skipped_or_lengthened_by_zeros(make_ecg: Callable[..., np.ndarray]) -> None:
    short = make_ecg(seconds=6.0)
    with pytest.raises(Unusable, match=r"too short: 6\.00 s"):
        Segmentation("recordings", 1000, 100, 500).cut(short, 500)
    padding = Segmentation("recordings", 1000, 100, 500, pad=True)
    samples = padding.cut(short, 500)
    assert samples.shape == (1000, 1, 12)
    assert not samples[600:].any()
    np.testing.assert_allclose(samples[:600].mean(axis=0), 0, atol=1e-4)
    assert padding.is_padded(np.array([3000, 5000]), 500).tolist() == [True, False]
    assert not Segmentation("recordings", 1000, 100, 500).is_padded(np.array([3000]), 500).any()
    with pytest.raises(Unusable, match=r"too short: 0\.00 s"):
        padding.cut(short[:0], 500)


def test_leads_are_named_by_number_or_one_by_one() -> None:
    assert leads_named(12) == list(LEADS)
    assert leads_named(["8"]) == ["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"]
    assert leads_named(["V2", "avr", " I "]) == ["I", "aVR", "V2"]
    for wanted in (5, [], ["I", "V7"], ["2", "3"], None, ["I", "I"]):
        with pytest.raises(ValueError, match=r"; there are I II III aVR .* or one of the numbers 12, 8, 6, 3, 2, 1$"):
            leads_named(wanted)
