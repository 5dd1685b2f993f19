from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.prepared.beats import heartbeats
from benchmark.data.simulate import simulate
from benchmark.verbs.speed.plain.preparation import plain_heartbeats


@pytest.mark.parametrize(("diagnosis", "fs"), [("NORM", 500.0), ("LBBB", 500.0), ("NORM", 250.0)])
def test_the_windows_are_those_of_the_suite(diagnosis: str, fs: float) -> None:
    signal = simulate(diagnosis, seed=3, seconds=10.0, fs=fs)
    ours = heartbeats(signal, fs).windows
    plain = plain_heartbeats(signal, fs)
    assert plain.shape == ours.shape
    np.testing.assert_allclose(plain, ours, atol=1e-5)
