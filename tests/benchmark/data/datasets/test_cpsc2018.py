"""The CPSC2018 reader: which label is the first, texts and codes, and forms never pooled.

CPSC2018's structs: each is read in millivolts or refused with its reason.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from benchmark.data.datasets.base import DatasetError, Unusable
from benchmark.data.datasets.cpsc2018 import CPSC2018, read_struct

REFERENCE = "Recording,First_label,Second_label,Third_label\nA0001,5,2,\nA0002,9,,\n"


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    add(tmp_path, "Training_WFDB", "A0001", "AF,RBBB")
    add(tmp_path, "Training_WFDB", "A0002", "STE")
    return tmp_path


@pytest.mark.parametrize("folder", [".", "Training_WFDB"])
def test_reference_decides_which_label_is_the_first(root: Path, folder: str):
    (root / folder / "REFERENCE.csv").write_text(REFERENCE)
    listing = CPSC2018(root).listing()
    assert listing.form == "Training_WFDB, labels of REFERENCE.csv"
    assert [entry.labels for entry in listing.entries] == [(4, 1), (8,)]
    assert [entry.patient for entry in listing.entries] == ["A0001", "A0002"]
    assert [path.name for path in CPSC2018(root).files(listing.entries[0])] == ["A0001.hea", "A0001.mat"]


def test_without_reference_the_headers_labels_stand(root: Path):
    listing = CPSC2018(root).listing()
    assert listing.form == "Training_WFDB, labels of the headers"
    assert [entry.labels for entry in listing.entries] == [(1, 4), (8,)]


def test_codes_and_texts_are_both_read(root: Path):
    codes = [
        "426783006",
        "164889003",
        "270492004",
        "164909002",
        "59118001",
        "284470004",
        "164884008",
        "429622005",
        "164931005",
    ]
    for number, code in enumerate(codes):
        add(root, "Training_WFDB", f"A001{number}", f"251146004,{code}")
    add(root, "Training_WFDB", "A0020", "270492004,59118001,251146004")
    assert [entry.labels for entry in CPSC2018(root).listing().entries[2:]] == [*((c,) for c in range(9)), (2, 4)]


def test_a_row_without_its_recording_is_counted_where_it_is_read(root: Path):
    (root / "REFERENCE.csv").write_text(REFERENCE + "A0003,1,,\n")
    missing = CPSC2018(root).listing().entries[2]
    assert (missing.recording, missing.path, missing.labels) == ("A0003", "Training_WFDB/A0003", (0,))
    with pytest.raises(Unusable, match="file missing: header"):
        CPSC2018(root).read(missing)


def test_forms_are_recognised_and_not_pooled(root: Path):
    add(root, "WFDB_CPSC2018", "A0009", "426783006")
    listing = CPSC2018(root).listing()
    assert len(listing.entries) == 2
    assert listing.others == ("WFDB_CPSC2018",)
    (entry,) = CPSC2018(root / "WFDB_CPSC2018").listing().entries
    assert (entry.path, entry.labels) == ("A0009", (0,))
    assert CPSC2018(root / "WFDB_CPSC2018").files(entry)[0].is_file()


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("Training_WFDB", "Training_WFDB"),
        ("WFDB_CPSC2018", "WFDB_CPSC2018"),
        (".", "WFDB"),
        ("g1", "WFDB"),
    ],
)
def test_every_form_with_headers_is_recognised(tmp_path: Path, folder: str, form: str):
    add(tmp_path, folder, "A0001", "AF")
    listing = CPSC2018(tmp_path).listing()
    assert listing.form == f"{form}, labels of the headers"
    assert [entry.path for entry in listing.entries] == [str(Path(folder, "A0001"))]
    assert listing.others == ()


def test_recordings_of_several_folders_have_the_table_of_the_first(tmp_path: Path):
    add(tmp_path, "g1", "A0001", "AF")
    add(tmp_path, "g2", "A0002", "STE")
    (tmp_path / "g1" / "REFERENCE.csv").write_text(REFERENCE + "A0003,1,,\n")
    assert [entry.path for entry in CPSC2018(tmp_path).listing().entries] == ["g1/A0001", "g2/A0002", "g1/A0003"]


@pytest.mark.parametrize("reference", [True, False])
def test_copies_that_differ_are_skipped_and_equal_ones_are_one(tmp_path: Path, reference: bool):
    for folder, codes in (("g1", "AF"), ("g2", "AF,RBBB")):
        add(tmp_path, folder, "A0001", "AF")
        add(tmp_path, folder, "A0002", codes)
    if reference:
        (tmp_path / "REFERENCE.csv").write_text(REFERENCE)
    listing = CPSC2018(tmp_path).listing()
    assert [entry.path for entry in listing.entries] == ["g1/A0001"]
    assert listing.skipped == (("A0002", "in several folders: 2 files that differ"),)


def test_copies_of_structs_are_compared_by_their_content(tmp_path: Path):
    for folder in ("TrainingSet1", "TrainingSet2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "A0001.mat").write_text("same")
        (tmp_path / folder / "A0002.mat").write_text(folder)
    for name in ("A0005.hea", "A0005.mat"):  # beside a header it is no struct
        (tmp_path / "TrainingSet3").mkdir(exist_ok=True)
        (tmp_path / "TrainingSet3" / name).touch()
    (tmp_path / "TrainingSet1" / "A0003.mat").write_text("gone")
    (tmp_path / "TrainingSet2" / "A0003.mat").symlink_to(tmp_path / "nothing")
    (tmp_path / "REFERENCE.csv").write_text(REFERENCE + "A0003,1,,\nA0004,1,,\n")
    listing = CPSC2018(tmp_path).listing()
    assert [entry.path for entry in listing.entries] == ["TrainingSet1/A0001.mat", "TrainingSet1/A0004.mat"]
    assert listing.skipped == (
        ("A0002", "in several folders: 2 files that differ"),
        ("A0003", "file missing: signal"),
    )
    assert CPSC2018(tmp_path).files(listing.entries[0]) == (tmp_path / "TrainingSet1" / "A0001.mat",)


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path):
    with pytest.raises(DatasetError, match=r"CPSC2018: no recording in .*Training_WFDB/A\*\.hea.*https://"):
        CPSC2018(tmp_path).listing()


def test_the_real_sample(shared_ecgs: Path):
    dataset = CPSC2018(shared_ecgs / "cpsc2018")
    entries = {entry.recording: entry for entry in dataset.listing().entries}
    assert len(entries) == 6877
    assert sum(dataset.files(entry)[0].is_file() for entry in entries.values()) == 76
    assert entries["A0043"].labels == (4, 1)  # the header says AF,RBBB
    assert entries["A5432"].labels == (5,)  # the header holds a code among texts
    assert dataset.read(entries["A0001"]).signal.shape == (7500, 12)
    assert dataset.listing().others == ("WFDB_CPSC2018", "TrainingSet")
    challenge = CPSC2018(shared_ecgs / "cpsc2018" / "WFDB_CPSC2018").listing()
    assert [entry.labels for entry in challenge.entries if entry.recording == "A0001"] == [(4,)]


def test_the_original_structs(shared_ecgs: Path, tmp_path: Path):
    shutil.copytree(shared_ecgs / "cpsc2018" / "TrainingSet", tmp_path / "TrainingSet1")
    with pytest.raises(DatasetError, match=r"CPSC2018: no REFERENCE\.csv in"):
        CPSC2018(tmp_path).listing()
    shutil.copy(shared_ecgs / "cpsc2018" / "REFERENCE.csv", tmp_path)
    listing = CPSC2018(tmp_path).listing()
    entry = next(entry for entry in listing.entries if entry.recording == "A1981")
    assert listing.form == "TrainingSet, labels of REFERENCE.csv"
    assert entry.path == "TrainingSet1/A1981.mat"
    recording = CPSC2018(tmp_path).read(entry)
    assert (recording.fs, recording.signal.shape) == (500, (7950, 12))
    leads = recording.signal.T
    assert np.abs(leads[1] - leads[0] - leads[2]).max() < 0.003  # Einthoven: II - I = III, to the rounding of 1 uV


def leads() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.outer(np.arange(1.0, 13.0), np.sin(np.arange(5000) / 40))  # (12, 5000) in mV


def save(path: Path, data: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    scipy.io.savemat(path, {"ECG": {"sex": "Male", "age": 52, "data": data}})


def cut(path: Path) -> None:
    save(path, leads())
    path.write_bytes(path.read_bytes()[:3000])


STRUCT_REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (lambda path: cut(path), "unreadable or truncated"),
    "empty": (Path.touch, "unreadable or truncated"),
    "text": (lambda path: path.write_text("404: not found"), "unreadable or truncated"),
    "no struct": (lambda path: scipy.io.savemat(path, {"val": leads()}), "unreadable or truncated: KeyError"),
    "eight leads": (lambda path: save(path, leads()[:8]), "not 12 leads: data of shape (8, 5000)"),
    "further axis": (lambda path: save(path, np.zeros((12, 50, 2))), "not 12 leads: data of shape (12, 50, 2)"),
    "NaN": (lambda path: save(path, np.full((12, 5000), np.nan)), "NaN samples: lead I, II"),
    "all zero": (lambda path: save(path, np.zeros((12, 5000))), "all samples zero"),
    "no samples": (lambda path: save(path, np.zeros((12, 0))), "no samples"),
}


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
