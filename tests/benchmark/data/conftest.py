"""Small handmade ECGs and WFDB records for the tests of readers and preparation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import wfdb
from numpy.typing import NDArray

from benchmark.data.datasets.base import LEADS

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
    """Write a WFDB record, as .dat or, with 24 bytes ahead of the samples, as the Challenge's .mat."""

    def write(
        path: Path,
        signal: Signal,
        *,
        fs: int = 500,
        leads: Sequence[str] = LEADS,
        comments: Sequence[str] = (),
        mat: bool = False,
    ) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        n = len(leads)
        wfdb.wrsamp(
            path.name,
            fs=fs,
            units=["mV"] * n,
            sig_name=list(leads),
            p_signal=signal,
            fmt=["16"] * n,
            adc_gain=[1000.0] * n,
            baseline=[0] * n,
            comments=list(comments),
            write_dir=str(path.parent),
        )
        if mat:
            data = path.with_suffix(".dat")
            path.with_suffix(".mat").write_bytes(bytes(24) + data.read_bytes())
            data.unlink()
            header = path.with_suffix(".hea")
            header.write_text(header.read_text().replace(f"{path.name}.dat 16 ", f"{path.name}.mat 16+24 "))
        return path

    return write
