"""CPSC2018's structs: each is read in millivolts or refused with its reason."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from benchmark.data.readers.base import Unusable
from benchmark.data.readers.cpsc2018_struct import read_struct, structs_at


def leads() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.outer(np.arange(1.0, 13.0), np.sin(np.arange(5000) / 40))  # (12, 5000) in mV


def save(path: Path, data: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    scipy.io.savemat(path, {"ECG": {"sex": "Male", "age": 52, "data": data}})


def cut(path: Path) -> None:
    save(path, leads())
    path.write_bytes(path.read_bytes()[:3000])


def a_hole(path: Path) -> None:
    """A file of 3 GB that takes no room."""
    path.touch()
    os.truncate(path, 3 * 10**9)


STRUCT_REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: cut(path), "unreadable or truncated"),
    "empty": (Path.touch, "unreadable or truncated"),
    "text": (lambda path: path.write_text("404: not found"), "unreadable or truncated"),
    "folder": (Path.mkdir, "unreadable file: not a regular file"),
    "a pipe": (os.mkfifo, "unreadable file: not a regular file"),
    "of 3 GB": (a_hole, "unreadable file: larger than 1024 MiB"),
    "missing": (lambda path: None, "file missing: signal"),
    "no struct": (lambda path: scipy.io.savemat(path, {"val": leads()}), "unreadable or truncated: KeyError"),
    "eight leads": (lambda path: save(path, leads()[:8]), "not 12 leads: data of shape (8, 5000)"),
    "further axis": (lambda path: save(path, np.zeros((12, 50, 2))), "not 12 leads: data of shape (12, 50, 2)"),
    "NaN": (lambda path: save(path, np.full((12, 5000), np.nan)), "NaN samples: lead I, II"),
    "all zero": (lambda path: save(path, np.zeros((12, 5000))), "all samples zero"),
    "no samples": (lambda path: save(path, np.zeros((12, 0))), "no samples"),
}


@pytest.mark.attack("recordings that are damaged or hostile")
@pytest.mark.parametrize("kind", STRUCT_REFUSED)
def test_a_damaged_struct_is_refused(kind: str, tmp_path: Path) -> None:
    make, reason = STRUCT_REFUSED[kind]
    make(tmp_path / "A0001.mat")
    with pytest.raises(Unusable, match=f"^{re.escape(reason)}"):
        read_struct(tmp_path / "A0001.mat")


def test_a_struct_is_read_in_millivolts_at_500_hz(tmp_path: Path) -> None:
    save(tmp_path / "A0001.mat", leads())
    recording = read_struct(tmp_path / "A0001.mat")
    assert recording.fs == 500
    np.testing.assert_allclose(recording.signal, leads().T, rtol=1e-6)


def test_matlab_files_beside_headers_are_no_structs(tmp_path: Path) -> None:
    for path in ("a/A0001.mat", "b/A0001.mat", "b/A0002.mat", "c/A0002.mat", "c/A0003.hea"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    assert structs_at(tmp_path, "*/A*") == {
        "A0001": [tmp_path / "a" / "A0001.mat", tmp_path / "b" / "A0001.mat"],
        "A0002": [tmp_path / "b" / "A0002.mat"],
    }
