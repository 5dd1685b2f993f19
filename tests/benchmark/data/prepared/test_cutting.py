"""What is kept of a signal besides its windows; the cutting itself is tested through `prepare`."""

from __future__ import annotations

import numpy as np

from benchmark.data.prepared.cutting import signal_digest


def test_a_digest_is_of_whole_microvolts(make_ecg):
    signal = make_ecg().astype(np.float32)
    signal[0] = 0.0
    rounded = np.asfortranarray(np.rint(signal * 1000) / 1000)
    rounded[0] = -0.0
    assert signal_digest(rounded) == signal_digest(signal)
    assert signal_digest(-signal) != signal_digest(signal)
    changed = signal.copy()
    changed[17, 3] += 1e-3
    assert signal_digest(changed) != signal_digest(signal)
