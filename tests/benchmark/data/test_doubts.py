"""What is doubtful about one recording: an amplitude of other units, an offset that leaves too few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmark.data.doubts import LARGEST_OFFSET, amplitude_of, signal_doubts


@pytest.mark.parametrize("rate", [40, 75, 180])
def test_the_amplitude_is_that_of_the_qrs_complexes(make_ecg: Callable[..., Any], rate: float) -> None:
    ecg = make_ecg(rate=rate).astype(np.float32)  # R waves of 1 to 2.1 mV
    assert amplitude_of(ecg, 500) == pytest.approx(1.55, rel=0.02)
    assert amplitude_of(ecg * (np.arange(12) > 5), 500) == pytest.approx(1.85, rel=0.02)
    assert amplitude_of(0 * ecg, 500) == 0


@pytest.mark.parametrize(("factor", "doubts"), [(1, 0), (1000, 1), (1e-3, 1), (0.1, 0), (5, 0)])
def test_microvolts_and_volts_under_mv_are_doubtful(make_ecg: Callable[..., Any], factor: float, doubts: int) -> None:
    assert len([*signal_doubts(make_ecg().astype(np.float32) * factor, 500, raw=False)]) == doubts


def test_an_offset_is_doubtful_where_float16_keeps_it(make_ecg: Callable[..., Any]) -> None:
    ecg = make_ecg().astype(np.float32)
    assert np.spacing(np.float16(LARGEST_OFFSET)) > 0.005 > np.spacing(np.float16(LARGEST_OFFSET / 2))
    for offset, raw, doubts in ((9, True, 1), (-9, True, 1), (9, False, 0), (7, True, 0)):
        ecg[:, 3] = make_ecg()[:, 3] + offset
        assert len([*signal_doubts(ecg, 500, raw=raw)]) == doubts
