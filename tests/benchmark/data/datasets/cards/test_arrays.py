"""NumPy, HDF5 and text files: the same samples in every form, and the reasons where a file and a card do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.data.datasets import card_formats
from benchmark.data.datasets.base import LEADS, Recording, Unusable
from benchmark.data.datasets.card_sections import CardSignals

FS = 500


@pytest.fixture
def ecg(make_ecg: Callable[..., Any]) -> Any:
    return make_ecg(seconds=2.0)


def read(path: Path, **card: Any) -> Recording:
    given = {"files": f"{{recording}}{path.suffix}", "rate": FS, "unit": "mV", **card}
    signals = CardSignals.model_validate({name: value for name, value in given.items() if value is not None})
    return card_formats.read(path, None, signals)


def refusal(path: Path, **card: Any) -> str:
    with pytest.raises(Unusable) as caught:
        read(path, **card)
    return str(caught.value)


def hdf5(path: Path, arrays: dict[str, Any], **attributes: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
        file.attrs.update(attributes)
    return path


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def test_every_form_gives_the_same_recording(tmp_path: Path, ecg: Any) -> None:
    named = tmp_path / "named.csv"
    header = ";".join(["time", *reversed(LEADS)])
    np.savetxt(named, np.column_stack([np.arange(len(ecg)), ecg[:, ::-1]]), "%.18g", ";", header=header, comments="")
    plain = tmp_path / "plain.csv"
    np.savetxt(plain, ecg, "%.18g", ",")
    np.savez(tmp_path / "r.npz", ecg=ecg, fs=FS, age=np.array([[61.0]] * 3))
    np.savez(tmp_path / "one.npz", times=np.arange(len(ecg)), ecg=ecg, fs=FS)
    hdf5(tmp_path / "r.h5", {"x/ecg": ecg.T, "beats": np.arange(5)}, fs=np.array([FS]))
    leads = list(LEADS)
    recordings = [
        read(named),
        read(plain, leads=leads),
        read(saved(tmp_path / "r.npy", ecg), leads=leads),
        read(saved(tmp_path / "t.npy", ecg.T), leads=leads),
        read(saved(tmp_path / "b.npy", ecg[:, ::-1]), leads=leads[::-1]),
        read(saved(tmp_path / "w.npy", np.column_stack([ecg[:, :1], ecg])), leads=["-", *leads]),
        read(tmp_path / "r.npz", leads=leads, rate=None, rate_name="fs", array="ecg"),
        read(tmp_path / "one.npz", leads=leads),
        read(tmp_path / "r.h5", leads=leads, rate=None, rate_name="fs"),
    ]
    for recording in recordings:
        assert recording.fs == FS
        np.testing.assert_array_equal(recording.signal, ecg.astype(np.float32))


@pytest.mark.parametrize(
    ("card", "factor"), [({"unit": "uV"}, 1e-3), ({"unit": "V"}, 1e3), ({"unit": None, "gain": 200}, 1 / 200)]
)
def test_the_card_gives_the_unit(tmp_path: Path, ecg: Any, card: dict[str, Any], factor: float) -> None:
    recording = read(saved(tmp_path / "r.npy", ecg), leads=list(LEADS), **card)
    np.testing.assert_array_equal(recording.signal, (ecg * factor).astype(np.float32))


def test_a_file_that_does_not_fit_its_card_says_why(tmp_path: Path, ecg: Any) -> None:
    leads = list(LEADS)
    assert "array has not one axis" in refusal(saved(tmp_path / "a.npy", ecg[:, :11]), leads=leads)
    assert "not a two-dimensional array of numbers" in refusal(saved(tmp_path / "d.npy", ecg.astype(str)), leads=leads)
    np.savez(tmp_path / "e.npz", one=ecg, two=ecg)
    assert "name it in signals.array: one, two" in refusal(tmp_path / "e.npz", leads=leads)
    assert "name it in signals.array: one, two" in refusal(tmp_path / "e.npz", leads=leads, array="three")
    rates = {"array": "one", "rate": None, "rate_name": "fs"}
    assert refusal(tmp_path / "e.npz", leads=leads, **rates) == "no number under signals.rate_name: fs"
    (tmp_path / "h.csv").write_text("1,2\n3,4\n")
    assert refusal(tmp_path / "h.csv") == "no names of leads in the file; give signals.leads in the card"
    assert refusal(tmp_path / "h.csv", leads=leads).startswith("columns are not the leads of the card")
    assert refusal(tmp_path / "gone.npy", leads=leads) == "file missing: signal"
