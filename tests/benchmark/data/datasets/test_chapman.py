"""The readers of Chapman and Ningbo: rhythms, three forms that are never pooled, their border, and 38 conditions."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.data.datasets.chapman import (
    CLASSES,
    CONDITION_OF_STATEMENT,
    RHYTHMS,
    RHYTHMS_PHYSIONET,
    Chapman,
    Ningbo,
)


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


def labels(root: Path) -> list[tuple[str, ...]]:
    return [tuple(Chapman.classes[label] for label in entry.labels) for entry in Chapman(root).listing().entries]


@pytest.mark.parametrize(
    ("folder", "codes", "groups"),
    [
        ("WFDBRecords/01/010", "427393009,426783006", ("SR",)),
        ("WFDBRecords/01/010", "426177001;427084000\n#Dx: 426177001", ("SB", "GSVT")),
        ("WFDBRecords/01/010", "Unknown", ()),
        ("WFDBRecords/01/010", "195101003", ("GSVT",)),  # a rhythm in PhysioNet's form alone
        ("WFDB_ChapmanShaoxing", "195101003", ()),
        (".", "195101003", ()),
    ],
)
def test_codes_are_groups_of_rhythms(tmp_path: Path, folder: str, codes: str, groups: tuple[str, ...]):
    add(tmp_path, folder, "JS00001", codes)
    assert labels(tmp_path) == [groups]
    if "WFDBRecords" in folder:
        assert labels(tmp_path / "WFDBRecords") == labels(tmp_path / "WFDBRecords" / "01") == [groups]


@pytest.mark.parametrize("dataset", [Chapman, Ningbo])
@pytest.mark.parametrize(
    "folder", ["WFDBRecords/02/020", "ecg-arrhythmia-1.0.0/WFDBRecords/02/020", "WFDB_*", ".", "g1"]
)
def test_every_form_holds_the_dataset_s_numbers(tmp_path: Path, dataset: type[Chapman], folder: str):
    challenge = dataset.forms[1]
    folder = folder.replace("WFDB_*", challenge)
    for number in (45551, 10647, 10646, 1, 0):
        add(tmp_path, folder, f"JS{number:05d}", "426783006")
    add(tmp_path, f"{folder}/.trash", "JS00002", "426783006")
    if "WFDBRecords" in folder:  # which goes before, and is not pooled with it
        add(tmp_path, challenge, "JS00003", "426783006")
        add(tmp_path, challenge, "JS10650", "426783006")
    listing = dataset(tmp_path).listing()
    names = ["JS00001", "JS10646"] if dataset is Chapman else ["JS10647", "JS45551"]
    assert [(entry.recording, entry.patient) for entry in listing.entries] == [(name, name) for name in names]
    assert listing.form == ("WFDBRecords" if "WFDBRecords" in folder else challenge)
    assert [entry.path for entry in listing.entries] == [str(Path(folder, name)) for name in names]
    assert [path.name for path in dataset(tmp_path).files(listing.entries[0])] == [f"{names[0]}.hea", f"{names[0]}.mat"]


def test_the_real_sample(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman")
    entries = dataset.listing().entries
    assert [entry.recording for entry in entries] == ["JS00001", "JS00002", "JS00004", "JS00005"]
    assert [dataset.classes[label] for entry in entries for label in entry.labels] == ["AFIB", "SB", "SB", "AFIB"]
    assert dataset.read(entries[0]).signal.shape == (5000, 12)
    assert len(Chapman(shared_ecgs / "chapman" / "WFDB_ChapmanShaoxing").listing().entries) == 10
    ningbo = Ningbo(shared_ecgs / "chapman").listing()
    assert (ningbo.form, len(ningbo.entries)) == ("WFDB_Ningbo", 33)
    assert all(entry.statements for entry in ningbo.entries)


def test_the_figshare_form(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman" / "figshare")
    listing = dataset.listing()
    counts = Counter(dataset.classes[label] for entry in listing.entries for label in entry.labels)
    assert counts == {"SB": 3889, "AFIB": 1780 + 445, "GSVT": 1568 + 587 + 121 + 16 + 8 + 7, "SR": 1826 + 399}
    assert (listing.form, listing.skipped) == ("figshare ECGDataDenoised", ())
    task = Chapman.tasks["all"]
    conditions = Counter(
        task.classes[label] for entry in listing.entries for label in task.labels((), entry.statements)
    )
    assert (len(conditions), conditions["AFIB"]) == (38, 1780)
    (entry,) = [entry for entry in listing.entries if dataset.files(entry)[0].is_file()]
    recording = dataset.read(entry)
    assert (recording.fs, recording.signal.shape) == (500, (5000, 12))
    assert recording.signal[0, :3].tolist() == pytest.approx([-0.16533, -0.35897, -0.12171])  # its first line is data


def test_rows_of_diagnostics(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        ("MUSE_1", "SB", "NONE"),
        ("MUSE_2", " AF ", "APB VPB AF"),
        ("MUSE_3", None, None),
        ("MUSE_6", "SB", None),
        ("MUSE_6", "SR", None),
        (None, "SB", None),
    ]
    pd.DataFrame(rows, columns=["FileName", "Rhythm", "Beat"]).to_excel(tmp_path / "Diagnostics.xlsx", index=False)
    listing = Chapman(tmp_path).listing()
    assert [(entry.recording, entry.labels, entry.statements) for entry in listing.entries] == [
        ("MUSE_1", (0,), "SB\nNONE"),
        ("MUSE_2", (1,), "AF\nAPB\nVPB"),
        ("MUSE_3", (), ""),
    ]
    assert dict(listing.skipped) == {"": "no identifier: ''", "MUSE_6": "listed twice; keep one row: 2 rows differ"}


OF_THE_CHALLENGE = {"427172004": "VPB", "733534002": "LBBB", "713427006": "RBBB"}


@pytest.fixture
def released(shared_ecgs: Path) -> list[tuple[str, str]]:
    """Acronym and code of ConditionNames_SNOMED-CT.csv."""
    table = shared_ecgs / "chapman" / "ecg-arrhythmia-1.0.0" / "ConditionNames_SNOMED-CT.csv"
    return [(row["AcronymName"], row["Snomed_CT"]) for row in csv.DictReader(table.read_text("utf-8-sig").splitlines())]


def test_rhythms_are_merged_as_by_the_authors(released: list[tuple[str, str]]) -> None:
    physionet = {code: RHYTHMS[name] for name, code in released if name in RHYTHMS}
    codes = {code: group for code, group in RHYTHMS_PHYSIONET.items() if code.isdigit()}
    assert {code: codes[code] for code in physionet} == physionet
    assert {code: codes[code] for code in codes.keys() - physionet} == {
        "251166008": "GSVT",  # the Challenge's codes
        "17366009": "GSVT",
    }
    assert RHYTHMS_PHYSIONET == RHYTHMS | {"195101003": "GSVT"}


def test_conditions_are_those_of_the_release(released: list[tuple[str, str]]) -> None:
    first = {code: name for name, code in reversed(released)}
    item = {code: name for code, name in CONDITION_OF_STATEMENT.items() if code.isdigit()}
    assert OF_THE_CHALLENGE.items() <= item.items()
    item = {code: name for code, name in item.items() if code not in OF_THE_CHALLENGE}
    assert item == {code: name for code, name in first.items() if name in CLASSES}
    for name, code in released:
        assert CONDITION_OF_STATEMENT.get(name) == item.get(code)
