"""Small handmade ECGs and WFDB records for the tests of readers and preparation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS
from tests import on_disk

Signal = NDArray[np.float64]


@pytest.fixture(scope="session")
def make_ecg() -> Callable[..., Signal]:
    """An ECG of narrow R and broad T waves: (n, 12) in mV, lead j scaled by 1 + j / 10."""

    def make(seconds: float = 10.0, fs: int = 500, rate: float = 75.0) -> Signal:
        time = np.arange(int(seconds * fs)) / fs
        phase = (time + 0.3) % (60 / rate)  # seconds since the last beat began
        beat = np.exp(-(((phase - 0.3) / 0.012) ** 2)) + 0.25 * np.exp(-(((phase - 0.55) / 0.05) ** 2))
        return np.stack([(1 + lead / 10) * beat for lead in range(len(LEADS))], axis=1)

    return make


@pytest.fixture(scope="session")
def write_record() -> Callable[..., Path]:
    """`tests.on_disk.write_record`."""
    return on_disk.write_record
