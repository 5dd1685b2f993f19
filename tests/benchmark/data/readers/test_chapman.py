"""The Chapman reader: rhythm groups, the two forms, and the border to Ningbo."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.chapman import Chapman


def add(root: Path, folder: str, name: str, codes: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / f"{name}.hea").write_text(f"{name} 12 500 5000\n#Dx: {codes}\n")


def labels(root: Path) -> list[tuple[str, ...]]:
    return [tuple(Chapman.classes[label] for label in entry.labels) for entry in Chapman(root).listing().entries]


def test_rhythms_are_merged_into_four_groups(tmp_path: Path):
    rhythms = {
        "426177001": "SB",
        "164889003": "AFIB",
        "164890007": "AFIB",
        "427084000": "GSVT",
        "426761007": "GSVT",
        "713422000": "GSVT",
        "233896004": "GSVT",
        "251166008": "GSVT",
        "233897008": "GSVT",
        "17366009": "GSVT",
        "426783006": "SR",
        "427393009": "SR",
    }
    for number, code in enumerate(rhythms, start=1):
        add(tmp_path, "WFDBRecords/01/010", f"JS{number:05d}", f"164934002,{code}")
    assert labels(tmp_path) == [(group,) for group in rhythms.values()]
    assert Chapman.classes == ("SB", "AFIB", "GSVT", "SR")


def test_two_groups_are_both_kept_and_no_rhythm_is_no_label(tmp_path: Path):
    add(tmp_path, "WFDBRecords/01/010", "JS00001", "427393009,426783006")
    add(tmp_path, "WFDBRecords/01/010", "JS00002", "426177001,427084000")
    add(tmp_path, "WFDBRecords/01/010", "JS00003", "164934002")
    assert labels(tmp_path) == [("SR",), ("SB", "GSVT"), ()]


def test_195101003_is_a_rhythm_in_physionets_form_only(tmp_path: Path):
    add(tmp_path / "a", "WFDBRecords/01/010", "JS00001", "195101003")
    add(tmp_path / "b", "WFDB_ChapmanShaoxing", "JS00001", "195101003")
    assert labels(tmp_path / "a") == [("GSVT",)]
    assert labels(tmp_path / "b") == [()]


def test_ningbo_is_left_out(tmp_path: Path):
    for name in ("JS00000", "JS10646", "JS10647", "JS45551"):
        add(tmp_path, "WFDBRecords/01/010", name, "426783006")
    (entry,) = Chapman(tmp_path).listing().entries
    assert (entry.recording, entry.patient) == ("JS10646", "JS10646")
    assert entry.path == "WFDBRecords/01/010/JS10646"


@pytest.mark.parametrize(
    ("folder", "form"),
    [
        ("WFDBRecords/02/020", "WFDBRecords"),
        ("ecg-arrhythmia-1.0.0/WFDBRecords/02/020", "WFDBRecords"),
        ("WFDB_ChapmanShaoxing", "WFDB_ChapmanShaoxing"),
        (".", "WFDB_ChapmanShaoxing"),
        ("g1", "WFDB_ChapmanShaoxing"),
    ],
)
def test_every_form_is_recognised(tmp_path: Path, folder: str, form: str):
    add(tmp_path, folder, "JS00002", "426783006")
    add(tmp_path, folder, "JS00001", "426783006")
    listing = Chapman(tmp_path).listing()
    assert listing.form == form
    assert [entry.recording for entry in listing.entries] == ["JS00001", "JS00002"]
    assert Chapman(tmp_path).files(listing.entries[0])[0].is_file()
    assert [path.name for path in Chapman(tmp_path).files(listing.entries[0])] == ["JS00001.hea", "JS00001.mat"]


def test_forms_are_not_pooled(tmp_path: Path):
    add(tmp_path, "WFDBRecords/01/010", "JS00001", "426783006")
    add(tmp_path, "WFDB_ChapmanShaoxing", "JS00002", "426783006")
    listing = Chapman(tmp_path).listing()
    assert [entry.recording for entry in listing.entries] == ["JS00001"]
    assert (listing.form, listing.others) == ("WFDBRecords", ("WFDB_ChapmanShaoxing",))


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path):
    with pytest.raises(DatasetError, match=r"no JS00001 to JS10646 in .*WFDBRecords/.*WFDB_ChapmanShaoxing/.*https://"):
        Chapman(tmp_path).listing()


def test_the_real_sample(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman")
    entries = dataset.listing().entries
    assert dataset.listing().others == ("WFDB_ChapmanShaoxing", "figshare ECGDataDenoised")
    assert [entry.recording for entry in entries] == ["JS00001", "JS00002", "JS00004", "JS00005"]
    assert [dataset.classes[label] for entry in entries for label in entry.labels] == ["AFIB", "SB", "SB", "AFIB"]
    assert dataset.read(entries[0]).signal.shape == (5000, 12)
    assert len(Chapman(shared_ecgs / "chapman" / "WFDB_ChapmanShaoxing").listing().entries) == 10


def test_ningbo_alone_is_another_dataset(shared_ecgs: Path, tmp_path: Path):
    with pytest.raises(
        DatasetError, match=r"Chapman: only recordings of Ningbo \(JS10647 and above\), which is another"
    ):
        Chapman(shared_ecgs / "chapman" / "WFDB_Ningbo").listing()
    add(tmp_path, "WFDB_Ningbo", "JS11438", "426783006")
    with pytest.raises(DatasetError, match="only recordings of Ningbo"):
        Chapman(tmp_path).listing()


def test_the_figshare_form(shared_ecgs: Path):
    dataset = Chapman(shared_ecgs / "chapman" / "figshare")
    listing = dataset.listing()
    counts = Counter(dataset.classes[label] for entry in listing.entries for label in entry.labels)
    assert counts == {"SB": 3889, "AFIB": 1780 + 445, "GSVT": 1568 + 587 + 121 + 16 + 8 + 7, "SR": 1826 + 399}
    assert (listing.form, listing.skipped) == ("figshare ECGDataDenoised", ())
    (entry,) = [entry for entry in listing.entries if dataset.files(entry)[0].is_file()]
    recording = dataset.read(entry)
    assert (recording.fs, recording.signal.shape) == (500, (5000, 12))
    assert recording.signal[0, :3].tolist() == pytest.approx([-0.16533, -0.35897, -0.12171])  # its first line is data
