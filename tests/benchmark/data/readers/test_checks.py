"""The bounds of a usable signal: sampling rate, duration, amplitude."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.checks import check_extent, checked_recording


@pytest.mark.parametrize(("samples", "fs"), [(1, 50), (1, 10_000), (3600 * 100, 100)])
def test_rates_and_durations_up_to_the_bounds_are_used(samples: int, fs: float) -> None:
    check_extent(samples, fs)


@pytest.mark.parametrize(
    ("samples", "fs", "reason"),
    [
        (500, 49.9, "sampling rate outside 50 to 10000 Hz: 49.9"),
        (500, 10_001, "sampling rate outside 50 to 10000 Hz: 10001"),
        (0, 500, "no samples"),
        (3600 * 100 + 1, 100, "longer than 3600 s: 3600"),
    ],
)
def test_rates_and_durations_beyond_are_refused(samples: int, fs: float, reason: str) -> None:
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}$"):
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


@pytest.mark.parametrize("peak", [0.6, -0.6])
def test_one_lead_that_leaves_zero_in_one_direction_is_enough(peak: float) -> None:
    signal = np.zeros((500, 12))
    signal[7, 2] = peak
    assert checked_recording(signal, 500).signal[7, 2] == np.float32(peak)
