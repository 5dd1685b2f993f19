from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.beats import clean, heartbeats, r_peaks, resample, standardise
from benchmark.data.simulate import simulate
from benchmark.speed.plain.preparation import neurokit_peaks, plain_heartbeats


@pytest.mark.parametrize(("diagnosis", "fs"), [("NORM", 500.0), ("LBBB", 500.0), ("NORM", 250.0)])
def test_the_windows_are_those_of_the_suite(diagnosis: str, fs: float) -> None:
    signal = simulate(diagnosis, seed=3, seconds=10.0, fs=fs)
    ours = heartbeats(signal, fs).windows
    plain = plain_heartbeats(signal, fs)
    assert plain.shape == ours.shape
    np.testing.assert_allclose(plain, ours, atol=1e-5)


def test_the_finder_alone_finds_the_same_peaks() -> None:
    standard = standardise(resample(simulate("NORM", seed=3, seconds=10.0, fs=500.0), 500.0))
    for lead, peaks in zip(clean(standard), r_peaks(standard), strict=True):
        np.testing.assert_array_equal(neurokit_peaks(lead), peaks)
