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


def test_what_is_too_short_or_not_a_number_says_so(make_ecg: Callable[..., np.ndarray]) -> None:
    with pytest.raises(Unusable, match=r"too short: 2\.40 s"):
        plain_windows(make_ecg(seconds=2.4), 500, 625)
    broken = make_ecg()
    broken[7, 3] = np.nan
    with pytest.raises(Unusable, match="NaN samples"):
        plain_windows(broken, 500, 625)
