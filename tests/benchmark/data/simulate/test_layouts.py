"""Every statement of PTB-XL is simulated, and finer ones move neither a superclass nor another draw.

Records on disk, read back by wfdb.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb

from benchmark.data.datasets.base import LEADS
from benchmark.data.datasets.ptb_xl import SCP_STATEMENTS
from benchmark.data.datasets.registry import SIMULATED_NOTE
from benchmark.data.simulate.layouts import (
    CODES,
    FURTHER,
    INSTEAD,
    Units,
    digitise,
    scp_codes,
    superclasses,
    write_dat,
    write_mat,
)
from benchmark.data.simulate.recording import simulate

SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS}


def test_every_statement_of_the_release_can_be_drawn() -> None:
    own = {code for codes, _ in CODES.values() for code in codes}
    finer = {code for table in (INSTEAD, FURTHER) for shares in table.values() for code, _ in shares}
    assert own | finer == set(SUPERCLASS)


@pytest.mark.parametrize("name", CODES)
def test_finer_statements_are_of_the_same_superclass(name: str) -> None:
    first = SUPERCLASS[CODES[name][0][0]]
    assert {SUPERCLASS[code] for code, _ in INSTEAD.get(name, ())} <= {first}
    assert {SUPERCLASS[code] for code, _ in FURTHER.get(name, ())} <= {first, ""}
    assert sum(share for _, share in INSTEAD.get(name, ())) < 1


def test_superclasses_keep_their_order_and_the_recording_s_stream_its_place() -> None:
    diagnoses = ("TWI", "LVH", "RBBB", "SR")
    for seed in range(200):
        rng, plain = np.random.default_rng(seed), np.random.default_rng(seed)
        codes = scp_codes(diagnoses, rng)
        plain.choice([100.0, 80.0, 50.0, 35.0], size=4, p=(0.70, 0.15, 0.11, 0.04))
        assert superclasses(codes) == ("STTC", "HYP", "CD")
        assert rng.integers(1 << 40) == plain.integers(1 << 40)
        assert codes == scp_codes(diagnoses, np.random.default_rng(seed))


def test_finer_statements_are_as_frequent_as_listed() -> None:
    found = [scp_codes(("RBBB", "SR"), np.random.default_rng(seed)) for seed in range(2000)]
    assert np.mean(["IRBBB" in codes for codes in found]) == pytest.approx(0.40, abs=0.05)
    assert np.mean(["ABQRS" in codes for codes in found]) == pytest.approx(0.20, abs=0.05)
    assert all(("IRBBB" in codes) + ("CRBBB" in codes) + ("IVCD" in codes) == 1 for codes in found)


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
