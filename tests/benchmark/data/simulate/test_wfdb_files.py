"""Records on disk, read back by wfdb."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from benchmark.data.readers.base import LEADS
from benchmark.data.readers.simulated import SIMULATED_NOTE
from benchmark.data.simulate.recording import simulate
from benchmark.data.simulate.wfdb_files import Units, digitise, write_dat, write_mat


@pytest.mark.parametrize("per_mv", [200, 1000])
@pytest.mark.parametrize("form", ["dat", "mat"])
def test_wfdb_reads_the_signal_back(tmp_path: Path, form: str, per_mv: int) -> None:
    signal = simulate("STE-ANT", seed=4, seconds=3.0)
    units = Units(per_mv, f"{per_mv}/mV")
    if form == "dat":
        write_dat(
            tmp_path / "x1", digitise(signal, units), LEADS, 500, units, start="08:44:00 23/07/2180", note=" a note"
        )
    else:
        write_mat(tmp_path / "x1", digitise(signal, units), LEADS, 500, units, notes=("Age: 50", "Dx: 1,2"))
    physical = wfdb.rdrecord(str(tmp_path / "x1"))
    assert tuple(physical.sig_name) == LEADS
    assert np.abs(physical.p_signal - signal).max() <= 0.5 / per_mv + 1e-6
    digital = wfdb.rdrecord(str(tmp_path / "x1"), physical=False)
    assert not ((digital.d_signal.astype(np.int64).sum(axis=0) - digital.checksum) % 65536).any()
    np.testing.assert_array_equal(digital.d_signal[0], digital.init_value)
    notes = ["a note"] if form == "dat" else ["Age: 50", "Dx: 1,2"]
    assert digital.comments == [*notes, SIMULATED_NOTE]


def test_digitise_saturates() -> None:
    steps = digitise(np.array([[50.0, -50.0, 0.0014]], dtype=np.float32), Units(1000, ""))
    assert steps.tolist() == [[32767, -32767, 1]]


def test_mat_is_a_matlab_matrix(tmp_path: Path) -> None:
    from scipy.io import loadmat

    units = Units(1000, "1000/mV")
    digital = digitise(simulate("NORM", seed=1, seconds=2.0), units)
    write_mat(tmp_path / "A1", digital, LEADS, 500, units, notes=())
    np.testing.assert_array_equal(loadmat(tmp_path / "A1.mat")["val"], digital.T)
